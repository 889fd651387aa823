using ProtoRpc.Fuzz.Engine;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>The targets that there are; a new one is a class and a row here.</summary>
internal static class TargetTable
{
    private static readonly KeyValuePair<string, Func<FuzzTarget>>[] Rows =
    [
        Row("pdu-server", static () => new ServerPduTarget()),
        Row("pdu-client", static () => new ClientPduTarget()),
        Row("trailer", static () => new SecuredPduTarget()),
        Row("ndr", static () => new NdrTarget()),
        Row("native-header", static () => new NativeHeaderTarget()),
        Row("ntlm", static () => new NtlmTarget()),
        Row("spnego", static () => new SpnegoTarget()),
        Row("grpc", static () => new GrpcTarget()),
        Row("http-stream", static () => new HttpStreamTarget()),
        Row("descriptors", static () => new DescriptorTarget()),
        Row("options", static () => new OptionTarget()),
        Row("rest", static () => new RestTarget()),
        Row("objects", static () => new ObjectTarget()),
        Row("reflection", static () => new ReflectionTarget()),
        Row("grpc-reply", static () => new ReplyTarget("grpc-reply", "grpc://127.0.0.1:1")),
        Row("http-reply", static () => new ReplyTarget("http-reply", "http://127.0.0.1:1/")),
        Row("connect", static () => new ConnectTarget()),
        Row("connect-reply", static () => new FramedReplyTarget(
            "connect-reply", "connect://127.0.0.1:1", new(), new() { Format = MessageFormats.Json })),
        Row("connect-listener", static () => new ConnectListenerTarget()),
        Row("grpc-web", static () => new GrpcWebTarget()),
        Row("grpc-web-reply", static () => new FramedReplyTarget(
            "grpc-web-reply", "grpcweb://127.0.0.1:1", new RpcClientOptions())),
        Row("http-listener", static () => new HttpListenerTarget()),
        Row("grpc-listener", static () => new GrpcListenerTarget()),
        Row("terminal", static () => new TerminalTarget()),
        Row("binary", static () => new BinaryTarget()),
        Row("formats", static () => new CrossFormatTarget()),
        Row("json", static () => new FormatTarget(
            MessageFormats.Json, "{", "}", "[", "]", "\\u0000", "\\ud800", "\"@type\":",
                "\"1970-01-01T00:00:00Z\"",
            "\"1.5s\"", "\"a,b\"", "{\"value\":", "\"NaN\"", "\"-0\"", "1e3", "0.0", "\"type.googleapis.com/",
                "//")
        { Shapes = FormatShapes.Json }),
        Row("json-peer", static () => new JsonPeerTarget()),
        Row("xml", static () => new FormatTarget(
            MessageFormats.Xml, "<", ">", "</", "/>", "<root>", "</root>", "<item>", "</item>", "<key>",
                "</key>",
            "<value>", "</value>", "&lt;", "&#0;", "&#xD;", "&x;", "<![CDATA[", "]]>", "<!--", "-->",
                "<?xml version=\"1.0\"?>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]>", "xmlns=\"u\"", "xml:space=\"preserve\"", "xsi:nil=\"true\"")
        { Shapes = FormatShapes.Xml }),
        Row("form", static () => new FormatTarget(
            MessageFormats.Form, "&", "=", "%41", "+", "%", ";", "[]", "[0]")
        { Shapes = FormatShapes.Form }),
        Row("text", static () => new FormatTarget(
            MessageFormats.Text, "{", "}", "<", ">", "[", "]", "\\x", "\\777", "\\u", "\\U0010FFFF", "0x1",
                "01", "-",
            "inf", "nan", "1.5f", "# c\n", "[type.googleapis.com/", "key:", "value:", "'", "\"")
        { Shapes = FormatShapes.Text }),
        Row("spellings", static () => new SpellingTarget()),
        Row("endpoint", static () => new EndpointTarget()),
    ];

    // A process for each input: only for those who name them.
    private static readonly KeyValuePair<string, Func<FuzzTarget>>[] Named =
    [
        Row("protoc", static () => new ProtocTarget()),
        Row("protoc-text", static () => new ProtocTextTarget()),
    ];

    /// <summary>The names.</summary>
    public static IReadOnlyList<string> Names { get; } = [.. Rows.Concat(Named).Select(row => row.Key)];

    /// <summary>The targets of these names; all that run by themselves when there are none.</summary>
    public static IEnumerable<FuzzTarget> Make(IReadOnlyCollection<string> names) => names.Count == 0
        ? Rows.Select(row => row.Value())
        : Rows.Concat(Named).Where(row => names.Contains(row.Key)).Select(row => row.Value());

    private static KeyValuePair<string, Func<FuzzTarget>> Row(string name, Func<FuzzTarget> make) =>
        new(name, make);
}
