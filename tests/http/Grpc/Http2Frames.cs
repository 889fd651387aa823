using System.Text;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Frames of HTTP/2 (RFC 9113, section 6) as a client sends them, octet by octet.</summary>
internal static class Http2Frames
{
    public const byte Data = 0;
    public const byte Headers = 1;
    public const byte ResetStream = 3;
    public const byte Settings = 4;
    public const byte GoAway = 7;
    public const byte EndStream = 1;

    private const byte EndHeaders = 4;

    /// <summary>What a client sends first.</summary>
    public static byte[] Preface => [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, .. Frame(Settings, 0, 0, [])];

    /// <summary>A call of streams.Words/Say.</summary>
    public static byte[] Call(int stream, string text) =>
    [
        .. Frame(
            Headers, EndHeaders, stream,
            [
                .. Field(":method", "POST"), .. Field(":scheme", "http"),
                .. Field(":path", "/streams.Words/Say"), .. Field(":authority", "localhost"),
                .. Field("content-type", "application/grpc"), .. Field("te", "trailers"),
            ]),
        .. Frame(Data, EndStream, stream, WordsServer.Frame(WordsServer.Text(text))),
    ];

    // RFC 7541, section 6.2.2: a literal that is not indexed.
    private static byte[] Field(string name, string value) =>
        [0, (byte)name.Length, .. Encoding.ASCII.GetBytes(name), (byte)value.Length,
            .. Encoding.ASCII.GetBytes(value)];

    private static byte[] Frame(byte type, byte flags, int stream, byte[] payload) =>
        [0, 0, (byte)payload.Length, type, flags, 0, 0, 0, (byte)stream, .. payload];
}
