// No views: the modules that `import SwiftUI` also imports on Apple's systems, for files that use nothing else of it.
@_exported public import CombineShim
@_exported public import Foundation
@_exported public import Observation
