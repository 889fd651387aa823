using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>String bindings and URIs.</summary>
internal sealed class EndpointTarget : FuzzTarget
{
    private static readonly string[] Known =
    [
        "ncacn_ip_tcp:host[8080]", "ncacn_ip_tcp:[::1][135]", @"ncacn_np:[\pipe\MyService]",
        @"ncacn_np:server[\\pipe\\x]", "ncalrpc:[MyService]", "tcp://host:8080", "tcp://[fe80::1%25eth0]:1",
        "pipe://./x", "pipe://server/x", "local://MyService", "http://host:8081/a/b", "https://h/",
            "grpc://host:50051",
        "grpcs://host", "grpc+unix:///tmp/x.sock", "inproc://NAME", "http://127.0.0.1:0/",
    ];

    public override string Name => "endpoint";

    public override string Promise =>
        "a written endpoint is read as the same endpoint, and has no invisible characters";

    public override IMutator Mutator { get; } = new TextMutator(
        "ncacn_ip_tcp:", "ncacn_np:", "ncalrpc:", "://", "[", "]",
            @"\pipe\", "[::1]", "127.0.0.1", "localhost",
        "65535", "65536", "%25", "xn--", "user:pw@", "..", "grpc+unix://", "inproc://");

    public override int? BytesPerByte => 256;

    public override IEnumerable<byte[]> Seeds() => Known.Select(Encoding.UTF8.GetBytes);

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return Repeated("dots", "tcp://", ".", ":1", 65_536);
        yield return Repeated("labels", "tcp://", "a.", ":1", 65_536);
        yield return Repeated("brackets", "ncacn_ip_tcp:", "[", "]", 65_536);
        yield return Repeated("slashes", "http://h/", "/", "", 65_536);
        yield return Repeated("escapes", "http://h/", "%41", "", 65_536);
        yield return Repeated("colons", "tcp://", ":", "", 65_536);
        yield return Repeated("spaces", " ", " ", "x", 65_536);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        string text = Encoding.UTF8.GetString(input);
        RpcEndpoint? endpoint = null;
        if (!Accepts(
            () => endpoint = meter.Measure(() => RpcEndpoint.Parse(text)), RpcStatusCode.InvalidArgument))
        {
            Require(!RpcEndpoint.TryParse(text, out _), "TryParse and Parse agree");
            return false;
        }

        Require(endpoint!.Equals(RpcEndpoint.Parse(endpoint.ToString())), $"the binding is read: {endpoint}");
        Require(endpoint.Equals(RpcEndpoint.Parse(endpoint.Uri)), $"the URI is read: {endpoint.Uri}");
        Require(endpoint.GetHashCode() == RpcEndpoint.Parse(endpoint.Uri).GetHashCode(),
            "the hash is the same");
        Require(!endpoint.ToString().Any(RpcEndpoint.IsInvisible), "nothing invisible is shown");
        return true;
    }

    private static GrowingInput Repeated(string name, string before, string piece, string after, int count) =>
        new(
        name,
        n => Encoding.UTF8.GetBytes(before + string.Concat(Enumerable.Repeat(piece, n)) + after), count);
}
