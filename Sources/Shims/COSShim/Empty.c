// Empty. The target consists of its module map.
