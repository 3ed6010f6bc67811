# Runs a script of a set of SQLite's suite: testfixture run.tcl FOLDER SET SCRIPT.
#
# STRONGROOM_SUITES_HEADER is the number of bytes that our files have before their first page. A
# script that asks how large a database is gets the answer without them, so that what it expects
# of the number of pages still holds. And the suite moves the lock byte from 1 GiB to 64 KiB by a
# switch that SQLite has for tests: a file of ours has it where the format says, so it stays there.
#
# Some scripts start a program, crash.tcl, that dies at a sync or a write of a VFS which plays a
# disk: it loses, keeps and spoils what was not synced. It stands above the default VFS. For us it
# stands below ours, where a disk is, so that it spoils what is sealed.

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
  rename exec exec_of_tcl
  proc exec {args} {
    if {[lindex $args 1] ne "crash.tcl"} {
      return [uplevel 1 [list exec_of_tcl {*}$args]]
    }
    set disk [put_disk_below crash.tcl]
    set extension $::env(STRONGROOM_SUITES_EXTENSION)
    unset ::env(STRONGROOM_SUITES_EXTENSION)
    set ::env(STRONGROOM_BASE_VFS) $disk
    catch {uplevel 1 [list exec_of_tcl {*}$args]} result options
    unset ::env(STRONGROOM_BASE_VFS)
    set ::env(STRONGROOM_SUITES_EXTENSION) $extension
    return -options $options $result
  }
  # Has a program load the extension after the VFS that plays a disk, and open files through ours.
  # Returns the name of that VFS.
  proc put_disk_below {program} {
    set file [open $program]
    set lines [split [read $file] \n]
    close $file
    set file [open $program w]
    foreach line $lines {
      if {[regexp {^\s*sqlite3_test_control_pending_byte } $line]} continue
      regsub -- {-vfs (write)?crash\y} $line {-vfs strongroom} line
      # A commit into the log is synced twice by us where a disk spoils whole sectors. Of the syncs
      # that these scripts count, three in four are commits.
      if {[regexp {^(sqlite3_crashparams .* )(\d+)( \S+-wal)$} $line -> head delay tail]} {
        set line $head[expr {7 * $delay / 4}]$tail
      }
      puts $file $line
      if {[regexp {^\s*sqlite3_crash_(enable|on_write) } $line -> command]} {
        set disk [expr {$command eq "enable" ? "crash" : "writecrash"}]
        puts $file "sqlite3 loader :memory:"
        puts $file "loader enable_load_extension 1"
        puts $file [list loader eval "SELECT load_extension('$::env(STRONGROOM_SUITES_EXTENSION)')"]
        puts $file "loader close"
      }
    }
    close $file
    return $disk
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
