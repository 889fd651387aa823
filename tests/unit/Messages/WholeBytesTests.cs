using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Server;
using ProtoRpc.Tests.Formats;
using ProtoRpc.Tests.Server;

namespace ProtoRpc.Tests.Messages;

/// <summary>Messages that arrive in several pieces, as from HTTP and gRPC.</summary>
public static class WholeBytesTests
{
    private const int Length = 100_000;
    private const int PieceBytes = 4096;

    // Arrays of messages of this length are not in the youngest generation: a copy of each would make the
    // runtime collect all of its memory often.
    private const int Spare = 4096;
    private const int Rounds = 5;

    private static readonly RpcMethodInfo Method =
        RequestDecodingTests.MethodOf("everything.proto3.Singular");

    // With these limits, the elements of every message of this length are counted.
    private static readonly RpcLimits Counted = new() { MaxGeneratedMapEntries = 1000 };

    private static readonly byte[] Message = new Everything.Proto3.Singular
    {
        FBytes = ByteString.CopyFrom(Enumerable.Range(0, Length).Select(i => (byte)i).ToArray()),
    }.ToByteArray();

    public static TheoryData<string> Readers =>
        ["request", "generated request", "reply", "generated reply", "format"];

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(int.MaxValue)]
    public static void The_pieces_are_the_whole(int pieceBytes)
    {
        byte[] bytes = Message[..1000];

        using WholeBytes whole = new(
            Method.RequestType, Segments.Pieces(bytes, Math.Min(pieceBytes, bytes.Length)));

        Assert.Equal(bytes, whole.Span);
    }

    [Theory]
    [MemberData(nameof(Readers))]
    public static void A_message_in_pieces_takes_no_more_memory(string reader)
    {
        ReadOnlySequence<byte> whole = new(Message);
        ReadOnlySequence<byte> pieces = Segments.Pieces(Message, PieceBytes);
        Assert.Equal(Message, Read(reader, pieces).ToByteArray());

        // A collection empties the pool of arrays.
        long ofWhole = Enumerable.Range(0, Rounds).Min(_ => Allocated(reader, whole));
        long ofPieces = Enumerable.Range(0, Rounds).Min(_ => Allocated(reader, pieces));

        Assert.InRange(ofPieces, Length, ofWhole + Spare);
    }

    private static long Allocated(string reader, ReadOnlySequence<byte> bytes)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        Read(reader, bytes);
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    private static IMessage Read(string reader, ReadOnlySequence<byte> bytes) => reader switch
    {
        "request" => Request(parser: null, bytes),
        "generated request" => Request(Everything.Proto3.Singular.Parser, bytes),
        "reply" => ReplyParser.Parse(Method, new ReplyBody(bytes), Counted),
        "generated reply" =>
            ReplyParser.Parse<Everything.Proto3.Singular>(Method, new ReplyBody(bytes), Counted),
        _ => MessageFormats.Binary.Read(Method.RequestType, bytes, new FormatOptions()),
    };

    private static IMessage Request(MessageParser? parser, ReadOnlySequence<byte> bytes) =>
        new ServerMethod(Method, (_, request) => ValueTask.FromResult(request), parser)
            .ReadRequest(bytes, RequestContexts.Of(Method, limits: Counted));
}
