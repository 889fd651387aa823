using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>The gRPC side of a listener. An input is the frames of HTTP/2 that a client sends over one
/// connection, behind the preface.</summary>
internal sealed class GrpcListenerTarget : FuzzTarget
{
    private const uint InternalError = 2;
    private const byte Status500 = 0x8E;
    private const int MaxFrame = 16 * 1024;

    // No table of headers, so that each answer has its status and its names in full.
    private static readonly byte[] Preface =
    [
        .. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8,
        .. Http2Frame.Join([new Http2Frame(Http2Frame.Settings, 0, 0, [0, 1, 0, 0, 0, 0])]),
    ];

    private readonly Lazy<FuzzedListener> _server = new(() => new FuzzedListener());

    public override string Name => "grpc-listener";

    public override string Promise =>
        "no internal error; the connection ends; other clients receive their own replies, "
        + "and memory does not grow";

    public override bool IsGuided => false;

    public override int MaxLength => 32 * 1024;

    public override IMutator Mutator { get; } = new Http2Mutator();

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] message = FrameMutator.Write(0, FuzzedListener.Request("a"));
        byte[] packed = FrameMutator.Write(
            1, ContentEncoding.Gzip.Encode(FuzzedListener.Request(new string('a', 30))));
        foreach (string method in new[] { "Echo", "Split", "Join", "Chat", "Unhandled" })
        {
            yield return Call($"/fuzzed.Shop/{method}", [], message);
            yield return Call($"/fuzzed.Shop/{method}", [("grpc-encoding", "gzip")], packed);
            yield return Call($"/fuzzed.Shop/{method}", [("grpc-timeout", "10S")], message, message, message);
            yield return Call($"/fuzzed.Shop/{method}", []);
        }

        yield return Call("/grpc.health.v1.Health/Check", [], FrameMutator.Write(0, []));
        yield return Call(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", [],
            FrameMutator.Write(0, [0x3A, 0]));
        List<Http2Frame> one = Http2Frame.Split(Call("/fuzzed.Shop/Echo", [], message), out _);
        yield return Http2Frame.Join(Enumerable.Range(0, 20).SelectMany(
            i => one.Select(frame => frame with { Stream = (uint)((2 * i) + 1) })));
        yield return Http2Frame.Join(
        [
            Http2Frame.OfHeaders(1, Http2Frame.EndHeaders, Http2Mutator.RequestTo("/fuzzed.Shop/Chat")),
            new Http2Frame(Http2Frame.Data, 0, 1, message),
            new Http2Frame(Http2Frame.WindowUpdate, 0, 0, [0, 0, 255, 255]),
            new Http2Frame(Http2Frame.Ping, 0, 0, new byte[8]),
            Http2Frame.OfHeaders(1, Http2Frame.EndHeaders | Http2Frame.EndStream, [("x-end", "1")]),
        ]);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        int expected = Http2Frame.Split(input, out _).Count(
            frame => frame.Type <= Http2Frame.Head && (frame.Flags & Http2Frame.EndStream) != 0);
        byte[] answer = BareConnection.Exchange(
            _server.Value.GrpcPort, [.. Preface, .. input], so => Ends(so) >= expected && so.Count > 0);
        Require(
            answer.AsSpan().IndexOf(Encoding.ASCII.GetBytes(FuzzedListener.Secret)) < 0,
            "no bytes of another client are sent");
        bool isAccepted = false;
        foreach (Http2Frame frame in Http2Frame.Split(answer, out _))
        {
            Check(frame);
            isAccepted |= IsStatus(frame, 0);
        }

        _server.Value.Check();
        return isAccepted;
    }

    public override void Dispose()
    {
        if (_server.IsValueCreated)
        {
            _server.Value.Dispose();
        }
    }

    private static int Ends(List<byte> answer)
    {
        List<Http2Frame> frames = Http2Frame.Split([.. answer], out _);
        return frames.Exists(frame => frame.Type == Http2Frame.GoAway)
            ? int.MaxValue
            : frames.Count(frame => frame.Type == Http2Frame.Reset
                || (frame.Type <= Http2Frame.Head && (frame.Flags & Http2Frame.EndStream) != 0));
    }

    private static void Check(Http2Frame frame)
    {
        Require(frame.Payload.Length <= MaxFrame, "a frame is no longer than the client takes");
        switch (frame.Type)
        {
            // Not GOAWAY: Kestrel calls a header with the index 0 an internal error, and hangs up.
            case Http2Frame.Reset:
                Require(Code(frame) != InternalError, $"no internal error: {Text(frame)}");
                break;
            case Http2Frame.Head:
                Require(
                    frame.Payload.Length == 0 || frame.Payload[0] != Status500,
                    $"no status 500: {Text(frame)}");
                Require(!IsStatus(frame, (int)RpcStatusCode.Unknown), $"the cause is known: {Text(frame)}");
                break;
            default:
                break;
        }
    }

    private static uint Code(Http2Frame frame) => frame.Payload.Length == sizeof(uint)
        ? BinaryPrimitives.ReadUInt32BigEndian(frame.Payload)
        : InternalError;

    private static bool IsStatus(Http2Frame frame, int status)
    {
        string text = status.ToString(CultureInfo.InvariantCulture);
        return frame.Type == Http2Frame.Head && frame.Payload.AsSpan().IndexOf(
            [.. "grpc-status"u8, (byte)text.Length, .. Encoding.ASCII.GetBytes(text)]) >= 0;
    }

    private static string Text(Http2Frame frame) => Encoding.Latin1.GetString(frame.Payload);

    private static byte[] Call(string path, (string Name, string Value)[] more, params byte[][] messages) =>
        Http2Frame.Join(
        [
            Http2Frame.OfHeaders(1, Http2Frame.EndHeaders, [.. Http2Mutator.RequestTo(path), .. more]),
            .. messages.Select(message => new Http2Frame(Http2Frame.Data, 0, 1, message)),
            new Http2Frame(Http2Frame.Data, Http2Frame.EndStream, 1, []),
        ]);
}
