@_exported public import OSShim
