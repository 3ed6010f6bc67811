# Runs a script of a set of SQLite's suite: testfixture run.tcl FOLDER SET SCRIPT.
#
# STRONGROOM_SUITES_HEADER is the number of bytes that our files have before their first page. A
# script that asks how large a database is gets the answer without them, so that what it expects
# of the number of pages still holds. And the suite moves the lock byte from 1 GiB to 64 KiB by a
# switch that SQLite has for tests: a file of ours has it where the format says, so it stays there.

set argv0 [file join [lindex $argv 0] permutations.test]
set argv [lrange $argv 1 end]

set prologue {
  rename sqlite3_test_control_pending_byte {}
  proc sqlite3_test_control_pending_byte {place} {}
  rename file file_of_tcl
  # Another process reads: to open and close the file here would drop its locks (fcntl(2)).
  proc is_strongroom {name} {
    expr {![catch {exec head -c 10 $name} start] && $start eq "Strongroom"}
  }
  proc file {subcommand args} {
    set result [uplevel 1 [list file_of_tcl $subcommand {*}$args]]
    if {$subcommand eq "size" && [is_strongroom [lindex $args 0]]} {
      incr result -$::env(STRONGROOM_SUITES_HEADER)
    }
    return $result
  }
}

# The suite gives each interpreter its commands by this command.
if {[info exists env(STRONGROOM_SUITES_HEADER)]} {
  eval $prologue
  rename load_testfixture_extensions load_extensions_of_suite
  proc load_testfixture_extensions {interpreter} {
    load_extensions_of_suite $interpreter
    interp eval $interpreter $::prologue
  }
}

source $argv0
