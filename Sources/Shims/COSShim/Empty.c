// Nothing: the target is its module map.
