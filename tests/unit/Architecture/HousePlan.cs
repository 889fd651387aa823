namespace ProtoRpc.Tests.Architecture;

/// <summary>The rooms of the house, and what each may see: docs/architecture.md in a form that is
/// tested.</summary>
internal static class HousePlan
{
    private static readonly string[] Shared = ["Shared"];
    private static readonly string[] Schema = [.. Shared, "Schema"];
    private static readonly string[] Messages = [.. Schema, "Messages"];
    private static readonly string[] Formats = [.. Messages, "Formats"];
    private static readonly string[] Protocols = [.. Formats, "Security", "Protocols"];
    private static readonly string[] Transports = [.. Protocols, "Transports"];
    private static readonly string[] Server = [.. Transports, "Server"];
    private static readonly string[] AspNetCore = [.. Server, "AspNetCore"];
    private static readonly string[] Library =
        [.. AspNetCore, "Client", "Gateway", "LoadTesting", "Mocks", "Endpoints", "Rendering",
         "Compatibility"];

    private static readonly string[] Objects = [.. Library, "Loader", "cmdlets/Objects"];
    private static readonly string[] Handlers = [.. Objects, "cmdlets/Handlers"];
    private static readonly string[] Connections = [.. Handlers, "cmdlets/Connections"];
    private static readonly string[] Parameters = [.. Connections, "cmdlets/Parameters"];
    private static readonly string[] Completion = [.. Parameters, "cmdlets/Completion"];
    private static readonly string[] Cmdlets = [.. Completion, "cmdlets/Cmdlets"];
    private static readonly string[] ServiceCommands =
        [.. Cmdlets, "ServiceCommands", "cmdlets/Endpoint", "cmdlets/Methods"];

    /// <summary>Each room with the rooms that it sees. Client and Server do not see each other; Gateway alone
    /// sees both.</summary>
    public static IReadOnlyDictionary<string, string[]> Sees { get; } = new Dictionary<string, string[]>
    {
        ["Shared"] = [],
        ["Schema"] = Shared,
        ["Messages"] = Schema,
        ["ServiceCommands"] = Messages,
        ["Formats"] = Messages,
        ["Endpoints"] = Formats,
        ["Rendering"] = Messages,
        ["Security"] = Shared,
        ["Protocols"] = [.. Formats, "Security"],
        ["Compatibility"] = Protocols,
        ["Transports"] = Protocols,
        ["Client"] = Transports,
        ["Server"] = Transports,
        ["Gateway"] = [.. Server, "Client"],
        ["LoadTesting"] = [.. Transports, "Client"],
        ["Mocks"] = Server,
        ["AspNetCore"] = Server,
        ["Grpc"] = [.. Server, "Client"],
        ["Tool"] = Library,
        ["Loader"] = Shared,
        ["cmdlets/Objects"] = Library,
        ["cmdlets/Handlers"] = Objects,
        ["cmdlets/Rendering"] = Objects,
        ["cmdlets/Connections"] = Handlers,
        ["cmdlets/Parameters"] = Connections,
        ["cmdlets/Completion"] = Parameters,
        ["cmdlets/Cmdlets"] = Completion,
        ["cmdlets/Prediction"] = [.. Cmdlets, "cmdlets/Methods"],
        ["cmdlets/Import"] =
            [.. Cmdlets, "cmdlets/Prediction", "cmdlets/ServiceCommands", "cmdlets/Rendering"],
        ["cmdlets/Schema"] = Cmdlets,
        ["cmdlets/Endpoint"] = [.. Cmdlets, "cmdlets/Methods"],
        ["cmdlets/Listener"] = Cmdlets,
        ["cmdlets/Methods"] = Cmdlets,
        ["cmdlets/Message"] = Cmdlets,
        // A mock is a listener.
        ["cmdlets/Mock"] = [.. Cmdlets, "cmdlets/Listener"],
        ["cmdlets/Session"] = Cmdlets,
        // Open-RpcStream finds its method as Invoke-RpcMethod does.
        ["cmdlets/Streams"] = [.. Cmdlets, "cmdlets/Methods"],
        ["cmdlets/ServiceCommands"] = ServiceCommands,
    };

    /// <summary>Types that open something outside of the process: a socket, a pipe, a file, a program, a
    /// name's addresses.</summary>
    public static IReadOnlySet<string> Doors { get; } = new HashSet<string>
    {
        "System.Net.Sockets.Socket", "System.Net.Sockets.TcpClient", "System.Net.Sockets.TcpListener",
        "System.Net.Sockets.UdpClient", "System.Net.Sockets.NetworkStream",
        "System.Net.Sockets.UnixDomainSocketEndPoint", "System.Net.Dns", "System.Net.Security.SslStream",
        "System.Net.Http.SocketsHttpHandler", "System.Net.Http.HttpClientHandler",
        "System.Net.Http.HttpClient", "System.Net.Quic.QuicConnection",
        "System.Net.WebSockets.ClientWebSocket",
        "System.IO.Pipes.NamedPipeServerStream", "System.IO.Pipes.NamedPipeClientStream",
        "System.IO.Pipes.NamedPipeServerStreamAcl", "System.IO.Pipes.PipeStream",
        "System.IO.File", "System.IO.FileInfo", "System.IO.FileStream", "System.IO.Directory",
        "System.IO.DirectoryInfo", "System.Diagnostics.Process",
    };

    /// <summary>The folders and the types of the libraries that may use doors,
    /// each with the reason.</summary>
    public static IReadOnlyDictionary<string, string> MayOpen { get; } = new Dictionary<string, string>
    {
        ["Transports"] = "opens all byte streams",
        ["Endpoints"] = "reads and writes the file of named endpoints",
        ["Schema/Sources"] = "reads .proto files, starts protoc, and keeps what it compiled",
        ["AspNetCore"] = "hands sockets to Kestrel",
        ["ProtoRpc.Client.Grpc.GrpcChannel"] = "gives the handler of HTTP/2 connections of GrpcDialer",
        ["ProtoRpc.Mocks.ReplayFile"] = "reads a file of recorded calls",
        ["ProtoRpc.UnixPeer"] = "asks a connected socket who is at its other end",
        ["ProtoRpc.WindowsPeer"] = "asks a connected pipe who is at its other end",
    };

    /// <summary>The room of a type: of the core library and of the cmdlets the first folder, of others
    /// the assembly. What protoc wrote counts to Protocols.</summary>
    public static string RoomOf(CodeType type)
    {
        string folder = type.Folders.FirstOrDefault(folder => folder != CodeType.Generated) ?? "Protocols";
        string first = folder.Split('/')[0];
        return type.Assembly switch
        {
            "ProtoRpc" => first,
            "ProtoRpc.PowerShell" => $"cmdlets/{first}",
            _ => type.Assembly["ProtoRpc.".Length..],
        };
    }
}
