# Carries out a formula as Homebrew does, as far as this one goes: its language is that of Homebrew,
# and only the words that the formula uses are known here. Anything else is an error.
#
#   ruby formula-check.rb FORMULA UNPACKED PREFIX
require "fileutils"
require "pathname"

class Formula
  class << self
    attr_reader :downloads, :check

    %i[desc homepage version license depends_on].each do |word|
      define_method(word) { |*| nil }
    end

    def on_linux = yield
    def on_intel = yield
    def on_arm = yield

    def url(address)
      (@downloads ||= []) << [address]
    end

    def sha256(sum)
      @downloads.last << sum
    end

    def test(&block)
      @check = block
    end
  end

  def initialize(prefix)
    @prefix = Pathname(prefix)
  end

  # A folder of the installed tree.
  class Folder < Pathname
    def install(*files)
      mkpath
      files.flatten.each do |file|
        from, to = file.is_a?(Hash) ? file.first : [file, File.basename(file)]
        raise "#{from} is not there" unless File.file?(from)

        FileUtils.cp(from, self / to)
      end
    end
  end

  def folder(*parts) = Folder.new(@prefix.join(*parts).to_s)
  def bin = folder("bin")
  def man1 = folder("share/man/man1")
  def bash_completion = folder("etc/bash_completion.d")
  def zsh_completion = folder("share/zsh/site-functions")
  def fish_completion = folder("share/fish/vendor_completions.d")
  def doc = folder("share/doc/strongroom")

  def system(*words)
    Kernel.system(*words.map(&:to_s), exception: true)
  end

  def shell_output(command) = `#{command}`
  def testpath = Pathname(Dir.pwd)

  def assert_match(expected, said)
    raise "#{said.inspect} lacks #{expected.inspect}" unless said.include?(expected)
  end
end

formula, unpacked, prefix = ARGV.map { |path| File.expand_path(path) }
load formula
installed = Strongroom.new(prefix)
Dir.chdir(unpacked) { installed.install }
Dir.mkdir("#{prefix}/test")
Dir.chdir("#{prefix}/test") { installed.instance_eval(&Strongroom.check) }
Strongroom.downloads.each { |address, sum| puts "#{sum} #{address}" }
