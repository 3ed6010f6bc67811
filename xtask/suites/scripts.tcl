# Prints which scripts a set of SQLite's suite has: testfixture scripts.tcl FOLDER SET.
# permutations.test runs nothing where the program was not called by its name.
set folder [lindex $argv 0]
set wanted [lindex $argv 1]
set argv {}
set argv0 [file join $folder scripts.tcl]
source [file join $folder permutations.test]
array set options $::testspec($wanted)
foreach script [lsort $options(-files)] {
  puts "script [file tail $script]"
}
