import ArgumentParser

/// `Compare`: started by the script `compare`, which installs and builds what it needs.
@main
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Measure blobd beside memcached, redis, nginx, varnish and a bare C program.",
        subcommands: [RunCommand.self, RenderCommand.self],
        defaultSubcommand: RunCommand.self)
}
