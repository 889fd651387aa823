using System.Diagnostics;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Tests.Protocols.Rest;

public static class RestRoutesTests
{
    private static readonly RestRoutes Library = RoutesOf(RestProtos.Library, out _);

    [Theory]
    [InlineData("GET", "/", "Root")]
    [InlineData("GET", "/v1/shelves/a", "GetShelf name=a")]
    [InlineData("GET", "/V1/Shelves/A", "GetShelf name=A")]
    [InlineData("GET", "/v1/shelves/a/", "GetShelf name=a")]
    [InlineData("GET", "/v1/shelves/a%2Fb%20c", "GetShelf name=a/b c")]
    [InlineData("GET", "/v1/shelves/a:b", "GetShelf name=a:b")]
    [InlineData("GET", "/v1/shelves/a:", "GetShelf name=a:")]
    [InlineData("GET", "/v1/shelves/mine", "GetMine")]
    [InlineData("GET", "/v1/shelves/%6dine", "GetMine")]
    [InlineData("HEAD", "/v1/shelves/mine", "GetMine")]
    [InlineData("DELETE", "/v1/shelves/mine", "DeleteShelf name=mine")]
    [InlineData("GET", "/v1/shelves", "ListShelves")]
    [InlineData("POST", "/v1/shelves", "CreateShelf")]
    [InlineData("GET", "/v1/shelves/1/books/2", "GetBook name=shelves/1/books/2")]
    [InlineData("GET", "/v1/shelves/a%2Fb/books/c%20d", "GetBook name=shelves/a%2Fb/books/c d")]
    [InlineData("POST", "/v1/shelves/1/books/2:archive", "ArchiveBook name=shelves/1/books/2")]
    [InlineData("POST", "/v1/shelves/1/books/2:Archive", "ArchiveBook name=shelves/1/books/2")]
    [InlineData("POST", "/v1/shelves/1/books/2%3Aarchive", "405 GET,HEAD,PATCH")]
    [InlineData("POST", "/v1/shelves/1/books/2:other", "405 GET,HEAD,PATCH")]
    [InlineData("PATCH", "/v1/shelves/1/books/2", "UpdateBook inner.name=shelves/1/books/2")]
    [InlineData("PUT", "/v1/books/2/7", "UpdateBook inner.name=2 number=7")]
    [InlineData("GET", "/v1/files", "ReadFile name=")]
    [InlineData("GET", "/v1/files/", "ReadFile name=")]
    [InlineData("GET", "/v1/files/a", "ReadFile name=a")]
    [InlineData("GET", "/v1/files/a/b%2Fc/", "ReadFile name=a/b%2Fc/")]
    [InlineData("GET", "/v1/files//a", "ReadFile name=/a")]
    [InlineData("GET", "/v1/files/a/stat", "StatFile name=files/a")]
    [InlineData("GET", "/v1/files/stat", "StatFile name=files")]
    [InlineData("GET", "/v1/files/stat/stat", "StatFile name=files/stat")]
    [InlineData("POST", "/v1/files/a/b:undelete", "Undelete name=a/b")]
    [InlineData("POST", "/v1/files/:undelete", "Undelete name=")]
    [InlineData("GET", "/v1/any/x/end", "Anything")]
    [InlineData("GET", "/v1/any//end", "404")]
    [InlineData("PURGE", "/v1/cache/x", "Purge name=x")]
    [InlineData("purge", "/v1/cache/x", "405 PURGE")]
    [InlineData("PUT", "/v1/shelves", "405 GET,HEAD,POST")]
    [InlineData("GET", "/v1", "404")]
    [InlineData("GET", "/v2/shelves", "404")]
    [InlineData("GET", "/v1/shelves//books/2", "404")]
    [InlineData("GET", "/v1/files/../shelves/mine", "404")]
    [InlineData("GET", "/v1/files/%2e%2E/a", "404")]
    [InlineData("GET", "/v1/shelves/%C0%AF", "GetShelf name?")]
    [InlineData("GET", "/v1/shelves/%", "GetShelf name?")]
    public static void The_most_specific_route_gets_a_path(string method, string path, string expected) =>
        Assert.Equal(expected, Find(Library, method, path));

    [Fact]
    public static void Rules_are_read_whether_the_schema_knows_them_or_not()
    {
        RpcSchema unknown = RestProtos.WithRules(
            ("Users/Get", RestProtos.Rule(("get", "/v1/users/{name}"))),
            ("Users/Set", RestProtos.Rule(("put", "/v1/users/{name}"), ("body", "*"))));

        RestRoutes routes = RoutesOf(unknown, out List<string> problems);

        Assert.Null(unknown.FindMessage("google.api.HttpRule"));
        Assert.Empty(problems);
        Assert.Equal("Get name=x", Find(routes, "GET", "/v1/users/x"));
        Assert.Equal("Set name=x", Find(routes, "PUT", "/v1/users/x"));
        Assert.True(routes.Bindings[1].IsBodyWhole);
    }

    [Theory]
    [InlineData("get", "/v1/{nam}", "", "which rest.Request does not have. Did you mean 'name'?")]
    [InlineData("get", "/v1/{inner.x}", "", "which rest.Inner does not have")]
    [InlineData("get", "/v1/{pageToken}", "", "which rest.Request does not have. Did you mean 'page_token'?")]
    [InlineData("get", "/v1/{tags}", "", "'tags' is repeated")]
    [InlineData("get", "/v1/{labels.key}", "", "'labels' is repeated")]
    [InlineData("get", "/v1/{inner}", "", "it is the message rest.Inner")]
    [InlineData("get", "/v1/{struct}", "", "it is the message google.protobuf.Struct")]
    [InlineData("get", "/v1/{name.x}", "", "'name' of 'name.x' is not a message")]
    [InlineData("get", "/v1/{name", "", "has no '}'")]
    [InlineData("get", "", "", "it has no path")]
    [InlineData("post", "/v1", "inner.name", "its body names the field 'inner.name'")]
    [InlineData("post", "/v1", "nothing", "its body names the field 'nothing'")]
    public static void A_wrong_rule_is_a_problem_that_names_method_and_rule(
        string kind, string path, string body, string why)
    {
        RpcSchema schema = RestProtos.WithRules(
            ("Users/Get", RestProtos.Rule((kind, path), ("body", body))),
            ("Users/Good", RestProtos.Rule(("get", "/good"))));

        RestRoutes routes = RoutesOf(schema, out List<string> problems);

        string problem = Assert.Single(problems);
        Assert.Contains($"'{kind.ToUpperInvariant()} {path}".Trim(), problem, StringComparison.Ordinal);
        Assert.Contains("rest.Users/Get", problem, StringComparison.Ordinal);
        Assert.Contains(why, problem, StringComparison.Ordinal);
        Assert.Equal("Good", Find(routes, "GET", "/good"));
    }

    [Fact]
    public static void Two_methods_with_one_route_are_a_problem_that_names_both()
    {
        RpcSchema schema = RestProtos.WithRules(
            ("Users/Get", RestProtos.Rule(("get", "/v1/users/{name}"))),
            ("Users/Find", RestProtos.Rule(("get", "/V1/users/{page_token=*}"))),
            ("Users/Set", RestProtos.Rule(("put", "/v1/users/{name}"))));

        RestRoutes routes = RoutesOf(schema, out List<string> problems);

        string problem = Assert.Single(problems);
        Assert.Contains(
            "'GET /V1/users/{page_token=*}' of rest.Users/Find", problem, StringComparison.Ordinal);
        Assert.Contains("'GET /v1/users/{name}' of rest.Users/Get", problem, StringComparison.Ordinal);
        Assert.Equal("Get name=x", Find(routes, "GET", "/v1/users/x"));
    }

    [Fact]
    public static void A_rule_for_all_methods_gets_what_no_other_has()
    {
        RestRoutes routes = RoutesOf(
            RestProtos.WithRules(
                ("Users/Any", RestProtos.Rule(("any", "/v1/{name}"))),
                ("Users/Get", RestProtos.Rule(("get", "/v1/{name}")))),
            out List<string> problems);

        Assert.Empty(problems);
        Assert.Equal("Get name=x", Find(routes, "GET", "/v1/x"));
        Assert.Equal("Get name=x", Find(routes, "HEAD", "/v1/x"));
        Assert.Equal("Any name=x", Find(routes, "REPORT", "/v1/x"));
    }

    [Fact]
    public static void Damaged_rules_are_problems_and_nothing_worse()
    {
        byte[] rule = [.. RestProtos.Rule(("get", "/v1/{name}/\u001b[31m")), 0x42, 4, 0x0A, 2, 0x41, 0x42];
        for (int length = 1; length <= rule.Length; length++)
        {
            RpcSchema schema = RestProtos.WithRules(("Users/Get", rule[..length]));

            RoutesOf(schema, out List<string> problems);

            Assert.True(problems.Count <= 1);
            Assert.All(problems, problem => Assert.DoesNotContain('\u001b', problem));
        }
    }

    [Fact]
    public static void A_search_is_linear_in_hostile_templates_and_paths()
    {
        // All paths of a and * of ten segments, of which none ends as the path does.
        RpcSchema schema = RestProtos.WithRules([.. Enumerable.Range(0, 1024).Select(i => (
            $"Users/M{i}",
            RestProtos.Rule(("get", string.Concat(Enumerable.Range(0, 10).Select(
                bit => (i >> bit & 1) == 0 ? "/a" : "/*")) + "/**/z"))))]);
        RestRoutes routes = RoutesOf(schema, out List<string> problems);
        Assert.Empty(problems);

        string longPath = string.Concat(Enumerable.Repeat("/a", 50_000));
        Stopwatch watch = Stopwatch.StartNew();

        Assert.Equal("404", Find(routes, "GET", longPath));
        Assert.Equal("404", Find(routes, "GET", longPath + ":a"));
        Assert.Equal("M0", Find(routes, "GET", longPath + "/z"));
        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(5), $"{watch.Elapsed}");
    }

    [Fact]
    public static void A_thousand_routes_are_not_walked()
    {
        RpcSchema schema = RestProtos.WithRules([.. Enumerable.Range(0, 1000).Select(
            i => ($"Users/M{i}", RestProtos.Rule(("get", $"/v1/kind{i}/{{name}}"))))]);
        RestRoutes many = RoutesOf(schema, out _);
        RestRoutes few = RoutesOf(
            RestProtos.WithRules(("Users/M7", RestProtos.Rule(("get", "/v1/kind7/{name}")))), out _);

        Assert.Equal(1000, many.Count);
        TimeSpan withFew = Fastest(few);
        TimeSpan withMany = Fastest(many);
        Assert.True(withMany < 5 * withFew, $"{withMany} for 1000 routes, {withFew} for one");
    }

    private static TimeSpan Fastest(RestRoutes routes)
    {
        HashSet<string> allowed = [];
        RestPath path = RestPath.Parse("/v1/kind7/x");
        TimeSpan fastest = TimeSpan.MaxValue;
        for (int i = 0; i < 50; i++)
        {
            Stopwatch watch = Stopwatch.StartNew();
            for (int n = 0; n < 1000; n++)
            {
                Assert.NotNull(routes.Find("GET", path, allowed));
            }

            fastest = watch.Elapsed < fastest ? watch.Elapsed : fastest;
        }

        return fastest;
    }

    private static RestRoutes RoutesOf(RpcSchema schema, out List<string> problems)
    {
        problems = [];
        return RestRoutes.Create(schema.Services.SelectMany(service => service.Methods), problems);
    }

    private static string Find(RestRoutes routes, string method, string path)
    {
        SortedSet<string> allowed = [];
        if (routes.Find(method, RestPath.Parse(path), allowed) is not { } match)
        {
            return allowed.Count == 0 ? "404" : $"405 {string.Join(',', allowed)}";
        }

        IEnumerable<string> values = match.Binding.Template.Variables.Select(
            (variable, i) => match[i] is { } value ? $"{variable.Name}={value}" : $"{variable.Name}?");
        return string.Join(' ', values.Prepend(match.Binding.Method.Name));
    }
}
