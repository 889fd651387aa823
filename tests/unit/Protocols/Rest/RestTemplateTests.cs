using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Tests.Protocols.Rest;

public static class RestTemplateTests
{
    [Theory]
    [InlineData("/", 0)]
    [InlineData("/v1", 1)]
    [InlineData("/v1/{name}", 2)]
    [InlineData("/v1/{name=*}/x", 3)]
    [InlineData("/v1/{a.b.c=shelves/*/books/**}:archive", 5)]
    [InlineData("/v1/*/x/**", 4)]
    [InlineData("/{name=**}/stat/last", 3)]
    [InlineData("/v1/a%20b", 2)]
    public static void Parses_all_of_the_grammar(string text, int segments) =>
        Assert.Equal(segments, RestTemplate.Parse(text).Segments.Count);

    [Theory]
    [InlineData("", "begins with '/'")]
    [InlineData("v1", "begins with '/'")]
    [InlineData("/v1/", "is empty")]
    [InlineData("//v1", "is empty")]
    [InlineData("/v1:", "verb at position 5 is empty")]
    [InlineData("/:verb", "segment at position 2 is empty")]
    [InlineData("/v1:a/b", "unexpected")]
    [InlineData("/v1:a:b", "unexpected")]
    [InlineData("/{}", "name is missing")]
    [InlineData("/{a.}", "name is missing")]
    [InlineData("/{.a}", "name is missing")]
    [InlineData("/{1a}", "name is missing")]
    [InlineData("/{a", "has no '}'")]
    [InlineData("/{a=}", "is empty")]
    [InlineData("/{a=*", "has no '}'")]
    [InlineData("/{a={b}}", "cannot contain a variable")]
    [InlineData("/{a=x/{b}}", "cannot contain a variable")]
    [InlineData("/{a}/{a}", "occurs twice")]
    [InlineData("/a}", "unexpected")]
    [InlineData("/a{b}", "unexpected")]
    [InlineData("/a*", "unexpected")]
    [InlineData("/***", "unexpected")]
    [InlineData("/**/*", "only literals")]
    [InlineData("/**/**", "only literals")]
    [InlineData("/**/{a}", "only literals")]
    [InlineData("/a%2", "percent codes")]
    [InlineData("/a%C0%AF", "percent codes")]
    [InlineData("/v1/..", "no request")]
    [InlineData("/v1/%2e", "no request")]
    public static void Says_what_is_wrong(string text, string why)
    {
        FormatException e = Assert.Throws<FormatException>(() => RestTemplate.Parse(text));

        Assert.Contains(why, e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/{", 100_000)]
    [InlineData("/*", 100_000)]
    [InlineData("/a", 100_000)]
    [InlineData("/{a=*/", 100_000)]
    [InlineData("/{a}", 100_000)]
    [InlineData("{a.", 100_000)]
    public static void Long_templates_are_refused(string part, int times) =>
        Assert.Throws<FormatException>(
            () => RestTemplate.Parse(string.Concat(Enumerable.Repeat(part, times))));

    [Theory]
    [InlineData("/v1/{name}", "a b/c", "/v1/a%20b%2Fc")]
    [InlineData("/v1/{name}", "-_.~09AZaz", "/v1/-_.~09AZaz")]
    [InlineData("/v1/{name}", "a:b?#", "/v1/a%3Ab%3F%23")]
    [InlineData("/v1/{name}", "gr\u00fc\u00df\ud83d\ude00", "/v1/gr%C3%BC%C3%9F%F0%9F%98%80")]
    [InlineData("/v1/{name=shelves/*}", "shelves/a b", "/v1/shelves/a%20b")]
    [InlineData("/v1/{name=shelves/*}:go", "shelves/a", "/v1/shelves/a:go")]
    [InlineData("/v1/{name=**}", "a/b c/d", "/v1/a/b%20c/d")]
    [InlineData("/v1/{name=**}", "", "/v1/")]
    [InlineData("/v1/{name=**}/stat", "a/b", "/v1/a/b/stat")]
    [InlineData("/v1/{name=a/**/b}/stat", "a/x/y/b", "/v1/a/x/y/b/stat")]
    [InlineData("/v1/{name=a/**/b}/stat", "a/b", "/v1/a/b/stat")]
    [InlineData("/v1/*/{name}", "x", "/v1/-/x")]
    [InlineData("/v 1/{name}", "x", "/v%201/x")]
    public static void Expands_to_a_path_that_gives_the_value_back(
        string text, string value, string expected)
    {
        RestTemplate template = RestTemplate.Parse(text);

        string? path = template.Expand(_ => value, out _);

        Assert.Equal(expected, path);
        RestPath parsed = RestPath.Parse(path);
        parsed = template.Verb is null ? parsed : parsed.WithoutVerb();
        Assert.Equal(value, template.ValueOf(template.Variables[0], parsed));
    }

    [Theory]
    [InlineData("/v1/{name}", "")]
    [InlineData("/v1/{name}", ".")]
    [InlineData("/v1/{name}", "..")]
    [InlineData("/v1/{name=shelves/*}", "shelves")]
    [InlineData("/v1/{name=shelves/*}", "shelves/")]
    [InlineData("/v1/{name=shelves/*}", "books/a")]
    [InlineData("/v1/{name=shelves/*}", "shelves/a/b")]
    [InlineData("/v1/{name=shelves/*}", "shelves/..")]
    [InlineData("/v1/{name=a/**/b}", "a")]
    [InlineData("/v1/{name=**}", "a/../b")]
    public static void A_value_that_does_not_fit_gives_no_path(string text, string value) =>
        Assert.Null(RestTemplate.Parse(text).Expand(_ => value, out _));

    [Theory]
    [InlineData("a%2Fb", "a/b", "a%2Fb")]
    [InlineData("a%2fb", "a/b", "a%2fb")]
    [InlineData("%41+b", "A+b", "A+b")]
    [InlineData("%E2%82%AC", "\u20ac", "\u20ac")]
    [InlineData("%25", "%", "%")]
    [InlineData("%", null, null)]
    [InlineData("%4", null, null)]
    [InlineData("%4g", null, null)]
    [InlineData("%+1", null, null)]
    [InlineData("%C0%AF", null, null)]
    [InlineData("%E0%80%AF", null, null)]
    [InlineData("%ED%A0%80", null, null)]
    [InlineData("%FF", null, null)]
    public static void Decodes_percent_codes(string coded, string? text, string? multi)
    {
        Assert.Equal(text, RestText.Decode(coded));
        Assert.Equal(multi, RestText.Decode(coded, keepsSlash: true));
    }
}
