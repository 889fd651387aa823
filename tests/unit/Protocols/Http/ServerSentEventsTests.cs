using System.Buffers;
using System.Text;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

/// <summary>Events as servers of other makers write them (WHATWG HTML, section 9.2.6).</summary>
public static class ServerSentEventsTests
{
    private const int MaxBytes = 100;

    [Theory]
    [InlineData("data: a\n\n", "a")]
    [InlineData("data:a\n\n", "a")]
    [InlineData("data:  a\n\n", " a")]
    [InlineData("data: a\r\n\r\n", "a")]
    [InlineData("data: a\ndata: b\n\n", "a\nb")]
    [InlineData("data: {\r\ndata:  \"a\": 1\r\ndata: }\r\n\r\n", "{\n \"a\": 1\n}")]
    [InlineData("data: a\ndata\ndata:\n\n", "a\n\n")]
    [InlineData("data: a\nid: 1\nretry: 5\n: comment\ndata: b\n\n", "a\nb")]
    [InlineData("data: a\n\ndata: b\n\n", "a", "b")]
    [InlineData(": ping\n\ndata: a\n\n", "a")]
    [InlineData("event: ping\ndata:\n\ndata: a\n\n", "a")]
    [InlineData("database: x\ndata: a\n\n", "a")]
    [InlineData("data: a\n")]
    [InlineData("data: a")]
    [InlineData("event: error\n\n")]
    public static void The_data_of_an_event_is_its_lines(string text, params string[] items) =>
        Assert.Equal(items.Select(item => (item, false)), Read(text, MaxBytes));

    [Theory]
    [InlineData("event: error\ndata: a\n\n", true)]
    [InlineData("event:error\ndata: a\n\n", true)]
    [InlineData("data: a\nevent: error\n\n", true)]
    [InlineData("event: error\r\ndata: a\r\n\r\n", true)]
    [InlineData("event: errors\ndata: a\n\n", false)]
    [InlineData("event: error \ndata: a\n\n", false)]
    [InlineData("event: Error\ndata: a\n\n", false)]
    [InlineData("events: error\ndata: a\n\n", false)]
    [InlineData("event: error\nevent: other\ndata: a\n\n", false)]
    [InlineData("event: error\n\ndata: a\n\n", false)]
    public static void Only_the_type_error_is_an_error(string text, bool isError) =>
        Assert.Equal(("a", isError), Assert.Single(Read(text, MaxBytes)));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static void An_event_is_read_wherever_it_is_cut(bool hasErrors)
    {
        string start = hasErrors ? "event: error\r\n" : "";
        byte[] whole = Encoding.UTF8.GetBytes($"{start}data: one\r\ndata: two\r\n\r\n");

        for (int cut = 0; cut < whole.Length; cut++)
        {
            ReadOnlySequence<byte> buffer = new(whole.AsMemory(0, cut));
            Assert.False(HttpStreamFormat.Events.TryRead(ref buffer, false, MaxBytes, out _, out _));
            Assert.Equal(cut, buffer.Length);
        }

        Assert.Equal([("one\ntwo", hasErrors)], Read(Encoding.UTF8.GetString(whole), MaxBytes));
    }

    [Fact]
    public static void The_data_of_all_lines_has_at_most_the_bytes_of_a_message()
    {
        string line = $"data: {new string('a', 49)}\n";

        Assert.Equal(99, Assert.Single(Read($"{line}{line}\n", MaxBytes)).Item.Length);
        RpcException error = Assert.Throws<RpcException>(() => Read($"{line}{line}data:\n\n", 99));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Theory]
    [InlineData("data: 0123456789\n", 20, MaxBytes)]
    [InlineData(": 0123456789\n", 20, MaxBytes)]
    [InlineData("x", 200, MaxBytes)]
    [InlineData("data\n", 10_000, MaxBytes)]
    [InlineData(":\n", 10_000, MaxBytes)]
    [InlineData(":\n", 10_000, 1_000_000)]
    [InlineData("data\n", 10_000, 1_000_000)]
    public static void An_event_without_end_stops_at_the_limit(string part, int count, int maxBytes)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => Read(string.Concat(Enumerable.Repeat(part, count)), maxBytes));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    private static List<(string Item, bool IsError)> Read(string text, int maxBytes)
    {
        ReadOnlySequence<byte> buffer = new(Encoding.UTF8.GetBytes(text));
        List<(string, bool)> items = [];
        while (HttpStreamFormat.Events.TryRead(
            ref buffer, isEnd: true, maxBytes, out ReadOnlySequence<byte> item, out bool isError))
        {
            items.Add((Encoding.UTF8.GetString(item), isError));
        }

        return items;
    }
}
