@main
struct Blobd {
    static func main() {}
}
