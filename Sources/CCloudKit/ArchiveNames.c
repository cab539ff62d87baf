// Defined in Sources/CloudKit/Foundation/ArchiveNames.swift.
void cloudkit_name_archived_classes(void);

// Archives of Apple's name the classes without their module. NSKeyedUnarchiver looks a name up before any code of
// CloudKit runs, so the names have to be known before a program's first line.
__attribute__((constructor)) static void name_archived_classes(void) { cloudkit_name_archived_classes(); }
