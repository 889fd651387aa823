using System.Net;
using System.Net.Http.Headers;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Well-formed requests of HTTP with bodies that are made to hurt whoever reads them.</summary>
public static class HostileMessageTests
{
    private const string Path = "/ProtoService.SearchService/Search";
    private const string Json = "application/json";
    private const string Xml = "application/xml";
    private const string Form = "application/x-www-form-urlencoded";
    private const string Binary = "application/x-protobuf";

    // The body is in Latin-1; what is said is a part of the answer.
    private static readonly (string MediaType, string Body, string Said)[] Bodies =
    [
        // Nesting: of messages, of what is passed over, of what is no message at all.
        (Json, Nested("{\"query\":\"x\",\"like\":", "{\"inner\":", "{}", "}", 101) + "}", "deep"),
        (Json, Nested("{\"query\":\"x\",\"like\":", "{\"inner\":", "{}", "}", 100_000) + "}", "deep"),
        (Json, Nested("", "[", "", "]", 1_000_000), "an object"),
        (Json, Nested("{\"tag\":", "[", "", "]", 1_000_000) + "}", "quotes"),
        (Xml, Nested("<r><query>x</query><like>", "<inner>", "", "</inner>", 101) + "</like></r>", "deep"),
        (Xml, Nested("<r><query>x</query><like>", "<inner>", "", "</inner>", 100_000)
            + "</like></r>", "deep"),
        (Xml, Nested("", "<a>", "", "</a>", 100_000), "SearchRequest"),
        (Binary, NestedInBinary(200), "deep"),
        (Binary, new string('\x0b', 100_000), "SearchRequest"),

        // Entities and the world outside.
        (Xml, "<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><r><query>&b;</query></r>", "DTD"),
        (Xml, "<!DOCTYPE r [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><r><query>&a;</query></r>", "DTD"),
        (Xml, "<!DOCTYPE r SYSTEM \"http://127.0.0.1:1/x.dtd\"><r><query>x</query></r>", "DTD"),
        (Xml,
            "<!DOCTYPE r [<!ENTITY % a SYSTEM \"http://127.0.0.1:1/x\">%a;]><r><query>x</query></r>", "DTD"),
        (Xml, "<r><query>&nope;</query></r>", "nope"),

        // Said twice, or against what was said before.
        (Json, """{"query":"x","query":"y"}""", "query"),
        (Json, """{"query":"x","page_number":1,"pageNumber":2}""", "page_number"),
        (Json, """{"query":"x","qu\u0065ry":"y"}""", "query"),
        (Json, """{"query":"x","day":1,"word":"w"}""", "until"),
        (Json, """{"query":"x","weights":{"a":1,"a":2}}""", "twice"),
        (Xml, "<r><query>x</query><query>y</query></r>", "query"),
        (Xml, "<r><query>x</query><day>1</day><word>w</word></r>", "until"),
        (Form, "query=x&query=y", "query"),
        (Form, "query=x&qu%65ry=y", "query"),
        (Form, "query=x&day=1&word=w", "until"),

        // Text that is none.
        (Json, "{\"query\":\"\xff\"}", "UTF-8"),
        (Json, "{\"query\":\"\xc0\xaf\"}", "UTF-8"),
        (Json, "{\"query\":\"\xed\xa0\x80\"}", "UTF-8"),
        (Json, """{"query":"\ud800"}""", "surrogate"),
        (Xml, "<r><query>\xff</query></r>", "line 1"),
        (Xml, "<?xml version='1.0' encoding='utf-7'?><r><query>x</query></r>", "encoding"),
        (Xml, "<r><query>&#0;</query></r>", "line 1"),
        (Form, "query=%ff", "UTF-8"),
        (Form, "query=%zz", "percent"),
        (Form, "query=%", "percent"),

        // Bytes and numbers that are none.
        (Json, """{"query":"x","stamp":"a"}""", "base64"),
        (Json, """{"query":"x","stamp":"AAAA===="}""", "base64"),
        (Json, """{"query":"x","stamp":"A A="}""", "base64"),
        (Json, """{"query":"x","stamp":"+-/_!"}""", "base64"),
        (Xml, "<r><query>x</query><stamp>a</stamp></r>", "base64"),
        (Form, "query=x&stamp=%21%21%21%21", "base64"),
        (Json, """{"query":"x","page_number":1e400000000}""", "page_number"),
        (Json, """{"query":"x","page_number":2147483648}""", "page_number"),
        (Json, $$"""{"query":"x","day":{{new string('9', 1_000_000)}}}""", "day"),
        (Json, $$"""{"query":"x","day":1{{new string('0', 1_000_000)}}e-1000001}""", "day"),
        (Form, "query=x&page_number=" + new string('9', 1_000_000), "page_number"),

        // More than anybody means.
        (Form, "query=x" + string.Concat(Enumerable.Repeat("&tag=a", 10_000)), "more than 1024 pairs"),
        (Json, $$"""{"{{new string('a', 1_000_000)}}":1}""", "no field"),
        (Xml, $"<r {string.Concat(Enumerable.Range(0, 50_000).Select(i => $"a{i}='' "))}/>", ""),

        // Lengths that lie.
        (Binary, "\x0a\xff\xff\xff\xff\x07x", "SearchRequest"),
        (Binary, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "SearchRequest"),
        (Binary, "\x0a\x02x", "SearchRequest"),
        (Binary, "\x07", "SearchRequest"),
    ];

    [Fact]
    public static async Task Bodies_are_refused_with_what_is_wrong_and_the_listener_goes_on()
    {
        using SearchServer server = new();
        foreach ((string mediaType, string body, string said) in Bodies)
        {
            using ByteArrayContent content = new(Encoding.Latin1.GetBytes(body));
            content.Headers.ContentType = new MediaTypeHeaderValue(mediaType);
            using HttpRequestMessage request = new(HttpMethod.Post, Path) { Content = content };
            request.Headers.Accept.ParseAdd(Json);
            using CancellationTokenSource tooLong = new(TimeSpan.FromSeconds(10));

            using HttpResponseMessage response = await server.Http.SendAsync(request, tooLong.Token);
            string text = await response.Content.ReadAsStringAsync();

            string about =
                $"{mediaType} {body[..Math.Min(80, body.Length)]}: {text[..Math.Min(300, text.Length)]}";
            Assert.True(response.StatusCode == HttpStatusCode.BadRequest, $"{response.StatusCode} {about}");
            Assert.True(text.Contains(said, StringComparison.Ordinal), about);
            Assert.True(text.Length < 4096, about);
        }

        (HttpStatusCode other, _, _) = await server.GetAsync($"{Path}?query=x");
        Assert.Equal(HttpStatusCode.OK, other);
        server.Server.RequireCounts(counts => counts.InFlight == 0);
    }

    private static string Nested(string begin, string open, string middle, string close, int depth) => begin
        + string.Concat(Enumerable.Repeat(open, depth)) + middle
        + string.Concat(Enumerable.Repeat(close, depth));

    // like.inner.inner..., built from within.
    private static string NestedInBinary(int depth)
    {
        byte[] message = [];
        for (int i = 0; i < depth; i++)
        {
            message = [(byte)(i < depth - 1 ? 0x12 : 0x2a), .. Length(message.Length), .. message];
        }

        return Encoding.Latin1.GetString([0x0a, 1, (byte)'x', .. message]);
    }

    private static byte[] Length(int length) =>
        length < 128 ? [(byte)length] : [(byte)(length | 0x80), (byte)(length >> 7)];
}
