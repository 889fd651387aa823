using System.Net.Http.Headers;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

/// <summary>When a server takes a call again: Retry-After of HTTP, and the pushback of gRPC.</summary>
public static class RetryAfterTests
{
    private static readonly DateTimeOffset Now = new(2026, 11, 28, 12, 0, 0, TimeSpan.Zero);

    [Theory]
    [InlineData("0", 0)]
    [InlineData("120", 120)]
    [InlineData(" 7 ", 7)]
    [InlineData("007", 7)]
    [InlineData("99999999999999999999", int.MaxValue)]
    [InlineData("Sat, 28 Nov 2026 12:00:30 GMT", 30)]
    [InlineData("Saturday, 28-Nov-26 12:00:30 GMT", 30)]
    [InlineData("Sat Nov 28 12:00:30 2026", 30)]
    [InlineData("Sat, 28 Nov 2026 11:00:00 GMT", 0)]
    public static void Seconds_and_dates_are_read(string value, double seconds) =>
        Assert.Equal(TimeSpan.FromSeconds(seconds), Find(value));

    [Theory]
    [InlineData("")]
    [InlineData("-1")]
    [InlineData("1.5")]
    [InlineData("soon")]
    [InlineData("1, 2")]
    [InlineData("0x10")]
    [InlineData("\u0661")]
    public static void Anything_else_is_no_time(string value) => Assert.Null(Find(value));

    [Fact]
    public static void A_response_without_the_header_has_no_time()
    {
        using HttpResponseMessage response = new();

        Assert.Null(HttpRetryAfter.Find(response.Headers, Now));
        Assert.Equal(TimeSpan.Zero, HttpRetryAfter.Parse(response.Headers));
    }

    [Fact]
    public static void Several_headers_are_no_time()
    {
        using HttpResponseMessage response = new();
        response.Headers.TryAddWithoutValidation("Retry-After", ["1", "2"]);

        Assert.Null(HttpRetryAfter.Find(response.Headers, Now));
    }

    [Fact]
    public static void A_date_counts_from_the_date_of_the_server()
    {
        using HttpResponseMessage response = new();
        response.Headers.TryAddWithoutValidation("Retry-After", "Sat, 28 Nov 2026 09:00:05 GMT");
        response.Headers.TryAddWithoutValidation("Date", "Sat, 28 Nov 2026 09:00:00 GMT");

        Assert.Equal(TimeSpan.FromSeconds(5), HttpRetryAfter.Find(response.Headers, Now));
    }

    [Theory]
    [InlineData("0", 0)]
    [InlineData("25", 25)]
    [InlineData("2147483647", int.MaxValue)]
    [InlineData("-1", -1)]
    [InlineData("2147483648", -1)]
    [InlineData("", -1)]
    [InlineData("+5", -1)]
    [InlineData(" 5", -1)]
    [InlineData("5ms", -1)]
    [InlineData("1, 2", -1)]
    public static void A_pushback_is_milliseconds_and_otherwise_no_retry(string value, double milliseconds)
    {
        using HttpResponseMessage response = new();
        response.Headers.TryAddWithoutValidation("grpc-retry-pushback-ms", value);

        Assert.Equal(
            TimeSpan.FromMilliseconds(milliseconds), GrpcPushback.Find(response.Headers));
    }

    [Fact]
    public static void Without_the_trailer_there_is_no_pushback()
    {
        using HttpResponseMessage response = new();

        Assert.Null(GrpcPushback.Find(response.TrailingHeaders));
    }

    private static TimeSpan? Find(string value)
    {
        using HttpResponseMessage response = new();
        HttpResponseHeaders headers = response.Headers;
        headers.TryAddWithoutValidation("Retry-After", value);
        return HttpRetryAfter.Find(headers, Now);
    }
}
