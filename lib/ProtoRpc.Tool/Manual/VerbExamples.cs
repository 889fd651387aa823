namespace ProtoRpc.Tool.Manual;

/// <summary>Examples of each verb, for its help and for the manual page.</summary>
internal static class VerbExamples
{
    private static readonly Dictionary<string, (string Does, string Line)[]> Examples = new()
    {
        ["bench"] =
        [
            ("Call a method for 10 seconds with 10 callers",
                "protorpc bench grpc://localhost:50051 Greeter/SayHello -d '{\"name\":\"Ann\"}' -c 10"),
            ("Compare two endpoints, which are called in turns",
                "protorpc bench tcp://localhost:8080 Search --endpoint grpc://localhost:50051 "
                + "--schema search.proto --random"),
        ],
        ["call"] =
        [
            ("Call a method of a server that offers reflection",
                "protorpc call grpc://localhost:50051 Greeter/SayHello -d '{\"name\":\"Ann\"}'"),
            ("Call by fields, with a schema of your own and a header",
                "protorpc call tcp://localhost:8080 Search --schema search.proto --set query=tea "
                + "-H 'tenant: a'"),
        ],
        ["completion"] =
        [
            ("Complete in this bash", "source <(protorpc completion bash)"),
            ("Complete in every PowerShell",
                "protorpc completion pwsh >> $PROFILE"),
        ],
        ["demo"] = [("Say hello over three transports", "protorpc demo")],
        ["describe"] =
        [
            ("Describe a message", "protorpc describe --schema shop.proto Shop.Order"),
        ],
        ["export"] =
        [
            ("Write the .proto files of a server",
                "protorpc export grpc://localhost:50051 --proto-out-dir ./protos"),
        ],
        ["health"] = [("Ask whether a service serves", "protorpc health grpc://localhost:50051")],
        ["list"] = [("List the services of .proto files", "protorpc list --schema shop.proto")],
        ["listen"] =
        [
            ("Answer a method on three transports",
                "protorpc listen grpc://127.0.0.1:50051 http://127.0.0.1:8080/ local://search "
                + "--schema search.proto --reply 'Search={\"result\":[{\"url\":\"http://a.example\"}]}'"),
            ("Answer by a template of the request",
                "protorpc listen grpc://127.0.0.1:50051 --schema search.proto "
                + "--template 'Search={\"result\":[{\"url\":\"/{{request.query}}\"}]}'"),
            ("Answer each call by running a program",
                "protorpc listen grpc://127.0.0.1:50051 --schema search.proto --exec './handler.py'"),
        ],
        ["mock"] =
        [
            ("Serve valid replies to every call, each after 50 ms",
                "protorpc mock grpc://127.0.0.1:50051 --schema shop.proto --latency 0.05"),
        ],
        ["ping"] = [("Ask a server whether it is there", "protorpc ping tcp://localhost:8080")],
        ["proxy"] =
        [
            ("Put gRPC before a native server",
                "protorpc proxy grpc://127.0.0.1:50051 tcp://old:1234 --schema old.proto"),
        ],
        ["repl"] =
        [
            ("Talk to a server line by line", "protorpc repl grpc://localhost:50051"),
            ("Run commands from a file",
                "protorpc repl tcp://localhost:8080 --schema search.proto < commands.txt"),
        ],
    };

    /// <summary>The examples of a verb: what each does, and its command line.</summary>
    public static IReadOnlyList<(string Does, string Line)> Of(string verb) =>
        Examples.GetValueOrDefault(verb, []);
}
