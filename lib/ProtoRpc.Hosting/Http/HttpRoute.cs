using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>What a path leads to: a method, a file of the schema,
/// the page of the services, or nothing.</summary>
internal sealed class HttpRoute
{
    /// <summary>The method.</summary>
    public ServerMethod? Method { get; init; }

    /// <summary>The schema of the file.</summary>
    public RpcSchema? Schema { get; init; }

    /// <summary>The file.</summary>
    public string? FileName { get; init; }

    /// <summary>Whether it is the page.</summary>
    public bool IsPage { get; init; }

    /// <summary>What is not there.</summary>
    public string Missing { get; private init; } = "";

    public static HttpRoute NotFound(string what) => new() { Missing = what };

    public static HttpRoute Nothing(string path) => NotFound(
        $"There is nothing at '{path}'. Methods are at /package.Service/Method and at /file.proto/Method.");
}
