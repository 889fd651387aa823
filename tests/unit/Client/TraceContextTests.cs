using System.Diagnostics;
using ProtoRpc.Protocols;

namespace ProtoRpc.Tests.Client;

public static class TraceContextTests
{
    [Theory]
    [InlineData(null)]
    [InlineData("vendor=1,other=2")]
    public static void Comes_back_from_the_headers_it_was_written_to(string? state)
    {
        using Activity activity = new("call");
        activity.SetIdFormat(ActivityIdFormat.W3C).Start();
        activity.TraceStateString = state;
        RpcMetadata headers = new();

        TraceContext.Write(activity, headers);
        ActivityContext read = TraceContext.Read(headers);

        Assert.True(TraceContext.IsIn(headers));
        Assert.Equal(
            (activity.TraceId, activity.SpanId, state), (read.TraceId, read.SpanId, read.TraceState));
        Assert.True(read.IsRemote);
    }

    [Theory]
    [InlineData("")]
    [InlineData("00-00000000000000000000000000000000-0000000000000000-00")]
    [InlineData("\u001b[31m")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7")]
    public static void Is_absent_where_the_header_is_malformed(string parent)
    {
        RpcMetadata headers = new();
        headers.AddReceived("traceparent", parent);

        Assert.Equal(default, TraceContext.Read(headers));
    }

    [Fact]
    public static void Leaves_out_a_state_that_no_header_carries()
    {
        using Activity activity = new("call");
        activity.SetIdFormat(ActivityIdFormat.W3C).Start();
        activity.TraceStateString = "a=\r\nb: c";
        RpcMetadata headers = new();

        TraceContext.Write(activity, headers);

        Assert.Equal(["traceparent"], headers.Names);
    }
}
