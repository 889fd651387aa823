using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Tests.Protocols.Rest;

public static class RestPathTests
{
    [Theory]
    [InlineData("/v1/a/b:archive", "/v1/{name=**}:archive", "a/b")]
    [InlineData("/v1/a/:archive", "/v1/{name=**}:archive", "a/")]
    [InlineData("/v1//:archive", "/v1/{name=**}:archive", "/")]
    [InlineData("/v1/:archive", "/v1/{name=**}:archive", "")]
    [InlineData("/v1/a/", "/v1/{name=**}", "a/")]
    public static void A_slash_at_the_end_of_a_value_stays(string path, string template, string value)
    {
        RestTemplate parsed = RestTemplate.Parse(template);
        RestPath read = RestPath.Parse(path);
        read = parsed.Verb is null ? read : read.WithoutVerb();

        Assert.Equal(value, parsed.ValueOf(parsed.Variables[0], read));
        Assert.Equal(path, parsed.Expand(_ => value, out _));
    }

    [Fact]
    public static void A_rule_is_shown_in_one_line()
    {
        RpcMethodInfo method = RestProtos.Library.Services[0].Methods[0];
        RestBinding binding = new(method, "GET\r\nspoof", RestTemplate.Parse("/v1\t/a")) { Fields = [] };

        Assert.Equal("GET\\u000D\\u000Aspoof /v1\\u0009/a", binding.ToString());
    }
}
