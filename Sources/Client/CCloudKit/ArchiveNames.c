// Defined in Sources/Client/CloudKit/FoundationInternals/ArchiveNames.swift.
void cloudkit_name_archived_classes(void);

// Apple's archives name classes without their module. NSKeyedUnarchiver may look up a class name before any CloudKit code
// runs, so the names must be registered before the program's first statement.
__attribute__((constructor)) static void name_archived_classes(void) { cloudkit_name_archived_classes(); }
