using System.Buffers;
using ProtoRpc.Client;
using ProtoRpc.Tests.Messages;
using ProtoRpc.Tests.Server;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Client;

/// <summary>A call that ends while its reply is decoded fails as a call that ended, not as a bad
/// reply.</summary>
public static class ReplyLookTests
{
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Parse("inproc://test");

    public static TheoryData<string> Formats => ["Binary", "Json", "Xml", "Text"];

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_cancelled_call_does_not_decode_its_reply_to_the_end(string format)
    {
        using CancellationTokenSource caller = new();
        ReplyBody body = Body(format, 50_000)
            .Of(CallClock.Start(TimeSpan.FromMinutes(1), caller.Token), Endpoint);
        Assert.NotNull(Parse(body));
        caller.Cancel();

        RpcException error = Assert.Throws<RpcException>(() => Parse(body));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.True(error.MayHaveExecuted);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void Neither_does_one_whose_time_is_over(string format)
    {
        ReplyBody body = Body(format, 50_000).Of(
            CallClock.Start(TimeSpan.FromMinutes(1), default, DateTimeOffset.UtcNow.AddSeconds(-1)),
            Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => Parse(body));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal(Endpoint, error.Endpoint);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_short_reply_that_came_in_time_is_decoded(string format)
    {
        ReplyBody body = Body(format, 10).Of(
            CallClock.Start(TimeSpan.FromMinutes(1), default, DateTimeOffset.UtcNow.AddSeconds(-1)),
            Endpoint);

        Assert.NotNull(Parse(body));
    }

    private static DynamicMessage Parse(ReplyBody body) => ReplyParser.Parse(
        RequestDecodingTests.MethodOf("everything.proto3.Leaf"), body,
        new RpcLimits { MaxMessageElements = int.MaxValue });

    private static ReplyBody Body(string name, int children)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        DynamicMessage leaf = TestMessages.Parse(
            "proto3.Leaf", [.. Enumerable.Repeat<byte[]>([0x1A, 0], children).SelectMany(b => b)]);
        ReadOnlySequence<byte> bytes = new(format.ToArray(leaf));
        return name == "Binary" ? new ReplyBody(bytes)
            : new ReplyBody(bytes, format, new FormatOptions { MaxElements = int.MaxValue });
    }
}
