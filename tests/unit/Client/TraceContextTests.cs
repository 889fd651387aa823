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
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0100")]
    [InlineData("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")]
    [InlineData("00-00000000000000000000000000000000-00f067aa0ba902b7-01")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01")]
    [InlineData("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    [InlineData("0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    [InlineData("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more")]
    [InlineData("00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-xx")]
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

    // W3C Trace Context, section 3.2.4.
    [Theory]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true)]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false)]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true)]
    [InlineData("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true)]
    [InlineData("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like", true)]
    public static void Is_read_of_this_and_of_later_versions(string parent, bool isSampled)
    {
        RpcMetadata headers = new();
        headers.AddReceived("traceparent", parent);

        ActivityContext read = TraceContext.Read(headers);

        Assert.Equal("4bf92f3577b34da6a3ce929d0e0e4736", read.TraceId.ToHexString());
        Assert.Equal("00f067aa0ba902b7", read.SpanId.ToHexString());
        Assert.Equal(isSampled ? ActivityTraceFlags.Recorded : ActivityTraceFlags.None, read.TraceFlags);
    }

    [Fact]
    public static void Is_absent_where_there_are_several_parents()
    {
        RpcMetadata headers = new();
        headers.AddReceived("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        headers.AddReceived("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-01");

        Assert.Equal(default, TraceContext.Read(headers));
    }

    [Theory]
    [InlineData("a=1", "b=2", "a=1,b=2")]
    [InlineData("fw529a3039@dt=FfAAA,other/x=1 2", null, "fw529a3039@dt=FfAAA,other/x=1 2")]
    [InlineData("", null, null)]
    [InlineData("a", null, null)]
    [InlineData("A=1", null, null)]
    [InlineData("a=1=2", null, null)]
    [InlineData("a=\u0001", null, null)]
    [InlineData("a=\u00fc", null, null)]
    public static void Has_a_state_of_all_its_headers_unless_that_is_malformed(
        string first, string? second, string? expected)
    {
        RpcMetadata headers = new();
        headers.AddReceived("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        headers.AddReceived("tracestate", first);
        if (second is not null)
        {
            headers.AddReceived("tracestate", second);
        }

        ActivityContext read = TraceContext.Read(headers);

        Assert.NotEqual(default, read.TraceId);
        Assert.Equal(expected, read.TraceState);
    }

    [Fact]
    public static void Has_no_state_that_is_too_long_or_has_too_many_members()
    {
        foreach (string state in new[]
        {
            "a=" + new string('x', 600), string.Join(',', Enumerable.Range(0, 33).Select(i => $"k{i}=1")),
        })
        {
            RpcMetadata headers = new();
            headers.AddReceived("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
            headers.AddReceived("tracestate", state);
            Assert.Null(TraceContext.Read(headers).TraceState);
        }
    }

    [Fact]
    public static void Leaves_baggage_alone()
    {
        using Activity activity = new("call");
        activity.SetIdFormat(ActivityIdFormat.W3C).AddBaggage("user", "ann").Start();
        RpcMetadata headers = new();

        TraceContext.Write(activity, headers);

        Assert.Equal(["traceparent"], headers.Names);
    }
}
