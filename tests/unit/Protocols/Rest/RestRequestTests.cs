using System.Buffers;
using System.Text;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Tests.Protocols.Rest;

/// <summary>Requests from path, query and body, and back.</summary>
public static class RestRequestTests
{
    private static readonly RestRoutes Library = RestRoutes.Create(
        RestProtos.Library.Services.SelectMany(service => service.Methods), new List<string>());

    [Theory]
    [InlineData("GET", "/v1/shelves/a?number=5&numbers=1&numbers=2", "",
        """{"name":"a","number":5,"numbers":[1,2]}""")]
    [InlineData("GET", "/v1/shelves/a?name=b&unknown=1&inner.unknown=2&name.x=3", "", """{"name":"a"}""")]
    [InlineData("GET", "/v1/typed?inner.name=x&inner.inner.number=2", "",
        """{"inner":{"name":"x","inner":{"number":2}}}""")]
    [InlineData("GET", "/v1/typed?page_token=a%20b%2Bc+d", "", """{"pageToken":"a b+c d"}""")]
    [InlineData("GET", "/v1/typed?pageToken=a", "", """{"pageToken":"a"}""")]
    [InlineData("GET", "/v1/typed?color=RED&colors=GREEN&colors=1&colors=7", "",
        """{"color":"RED","colors":["GREEN","RED",7]}""")]
    [InlineData("GET", "/v1/typed?time=2024-02-29T12:30:00.5Z&pause=1.5s&mask=a.b,cD", "",
        """{"time":"2024-02-29T12:30:00.500Z","pause":"1.500s","mask":"a.b,cD"}""")]
    [InlineData("GET", "/v1/typed?maybeNumber=0&maybe_text=", "", """{"maybeNumber":0,"maybeText":""}""")]
    [InlineData("GET", "/v1/typed?mask=display_name,a.b_c", "", """{"mask":"displayName,a.bC"}""")]
    [InlineData("GET", "/v1/typed?ratio=1e3&single=NaN&flag=true&data=-_8", "",
        """{"ratio":1000,"single":"NaN","flag":true,"data":"+/8="}""")]
    [InlineData("GET", "/v1/typed?big=-9223372036854775808&huge=18446744073709551615", "",
        """{"big":"-9223372036854775808","huge":"18446744073709551615"}""")]
    [InlineData("GET", "/v1/typed?left=a&maybe=", "", """{"left":"a","maybe":""}""")]
    [InlineData("GET", "/v1/typed?&&number=1&", "", """{"number":1}""")]
    [InlineData("GET", "/v1/typed/time/2024-01-01T00:00:00Z", "", """{"time":"2024-01-01T00:00:00Z"}""")]
    [InlineData("POST", "/v1/shelves?number=1", """{"name":"x"}""", """{"name":"x"}""")]
    [InlineData("POST", "/v1/shelves", "", "{}")]
    [InlineData("POST", "/v1/shelves/1/books/2:archive", """{"name":"x","number":3}""",
        """{"name":"shelves/1/books/2","number":3}""")]
    [InlineData("PATCH", "/v1/shelves/1/books/2?number=4&inner.number=9", """{"name":"x","number":3}""",
        """{"number":4,"inner":{"name":"shelves/1/books/2","number":3}}""")]
    [InlineData("PUT", "/v1/tags", """["a","b"]""", """{"tags":["a","b"]}""")]
    [InlineData("PUT", "/v1/labels/n", """{"a":"b"}""", """{"name":"n","labels":{"a":"b"}}""")]
    [InlineData("PUT", "/v1/inners?number=1", """[{"name":"a"},{}]""",
        """{"number":1,"inners":[{"name":"a"},{}]}""")]
    [InlineData("PUT", "/v1/tags", "null", "{}")]
    public static void Path_query_and_body_make_the_request(
        string method, string target, string body, string expected) =>
        Assert.Equal(RestProtos.Request(expected), Read(method, target, body));

    [Theory]
    [InlineData("/v1/typed?number=1&number=2", "Request.number: the field occurs twice")]
    [InlineData("/v1/typed?number=1&Number=2", "Request.number: the field occurs twice")]
    [InlineData("/v1/typed?number=", "is not a whole number")]
    [InlineData("/v1/typed?number", "is not a whole number")]
    [InlineData("/v1/typed?number=3000000000", "does not fit into int32")]
    [InlineData("/v1/typed?numbers=1&numbers=x", "is not a whole number")]
    [InlineData("/v1/typed?flag=yes", "is not a bool")]
    [InlineData("/v1/typed?color=BLUE", "is not in the enum rest.Color")]
    [InlineData("/v1/typed?data=%21", "is not base64")]
    [InlineData("/v1/typed?time=now", "is not a time")]
    [InlineData("/v1/typed?mask=a__b", "is not a list of paths")]
    [InlineData("/v1/typed?inner=x", "a query cannot hold rest.Inner")]
    [InlineData("/v1/typed?inners=x", "a query cannot hold rest.Inner")]
    [InlineData("/v1/typed?inners.name=x", "a query cannot hold rest.Inner")]
    [InlineData("/v1/typed?labels=x", "a query cannot hold map<string, string>")]
    [InlineData("/v1/typed?labels.key=x", "a query cannot hold map<string, string>")]
    [InlineData("/v1/typed?struct=x", "a query cannot hold google.protobuf.Struct")]
    [InlineData("/v1/typed?left=1&right=2", "only one field of the oneof")]
    [InlineData("/v1/typed/left/1?right=2", "only one field of the oneof")]
    [InlineData("/v1/typed?number=%4", "percent codes are wrong")]
    [InlineData("/v1/typed?page_token=%C0%AF", "percent codes are wrong, or not UTF-8")]
    [InlineData("/v1/typed?%C0%AF=1", "percent codes are wrong, or not UTF-8")]
    [InlineData("/v1/shelves/%C0%AF", "the part of the path that is 'name' has wrong percent codes")]
    [InlineData("/v1/typed/number/x", "is not a whole number")]
    public static void A_wrong_value_is_refused_with_its_field(string target, string why)
    {
        RpcException e = Assert.Throws<RpcException>(() => Read("GET", target, ""));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Contains(why, e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("PUT", "/v1/tags", """["a"],"number":1""")]
    [InlineData("PUT", "/v1/tags", """["a"]}""")]
    [InlineData("PUT", "/v1/tags", """{"tags":["a"]}""")]
    [InlineData("PUT", "/v1/tags", "[1]")]
    [InlineData("PATCH", "/v1/shelves/1/books/2", """{},"number":1""")]
    [InlineData("POST", "/v1/shelves", """{"nam":"x"}""")]
    public static void A_body_sets_nothing_but_its_field(string method, string target, string body) =>
        Assert.Throws<RpcException>(() => Read(method, target, body));

    [Fact]
    public static void Deep_names_end_at_the_limit_of_messages()
    {
        string names = string.Concat(Enumerable.Repeat("inner.", 101));
        string wide = string.Concat(Enumerable.Repeat("a.", 50_000));

        RpcException e = Assert.Throws<RpcException>(() => Read("GET", $"/v1/typed?{names}number=1", ""));

        Assert.Equal(RpcErrorIds.TooDeep, e.ErrorId);
        Assert.Equal(RestProtos.Request("{}"), Read("GET", $"/v1/typed?{wide}=1", ""));
        Assert.NotNull(Read("GET", $"/v1/typed?{names[..(6 * 90)]}number=1", ""));
    }

    [Fact]
    public static void Ten_thousand_parameters_are_refused()
    {
        string query = string.Join('&', Enumerable.Range(0, 10_000).Select(i => $"numbers={i}"));

        RpcException e = Assert.Throws<RpcException>(() => Read("GET", $"/v1/typed?{query}", ""));

        Assert.Contains("more than 1024 pairs", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GetShelf", """{"name":"a/b","number":3}""", "GET", "/v1/shelves/a%2Fb?number=3", null)]
    [InlineData("GetBook", """{"name":"shelves/1/books/2 3"}""", "GET", "/v1/shelves/1/books/2%203", null)]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"shelves/1/books/2","number":3}}""",
        "PATCH", "/v1/shelves/1/books/2?number=4", """{"name":"shelves/1/books/2","number":3}""")]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"x","number":3},"tags":["t"]}""",
        "PUT", "/v1/books/x/4", """{"tags":["t"],"inner":{"number":3}}""")]
    [InlineData("CreateShelf", """{"name":"x"}""", "POST", "/v1/shelves", """{"name":"x"}""")]
    [InlineData("SetTags", """{"tags":["a","b"]}""", "PUT", "/v1/tags", """["a","b"]""")]
    [InlineData("SetLabels", """{"name":"n","labels":{"a":"b"}}""", "PUT", "/v1/labels/n", """{"a":"b"}""")]
    [InlineData("Purge", """{"name":"x","inner":{"name":"y","inner":{"tags":["1","2"]}}}""",
        "PURGE", "/v1/cache/x?inner.name=y&inner.inner.tags=1&inner.inner.tags=2", null)]
    [InlineData("ListShelves", """{"color":"RED","colors":[7],"data":"+/8=","flag":true}""",
        "GET", "/v1/shelves?flag=true&data=%2B%2F8%3D&color=RED&colors=7", null)]
    [InlineData("ListShelves", """{"mask":"a.bC","time":"2024-01-01T00:00:00Z","pause":"1.5s"}""",
        "GET", "/v1/shelves?time=2024-01-01T00%3A00%3A00Z&pause=1.500s&mask=a.b_c", null)]
    [InlineData("ListShelves", """{"maybeNumber":0,"maybe":"","pageToken":"&=+ %"}""",
        "GET", "/v1/shelves?maybeNumber=0&maybe=&pageToken=%26%3D%2B%20%25", null)]
    [InlineData("ReadFile", "{}", "GET", "/v1/files/", null)]
    public static void A_client_sends_what_the_server_reads(
        string method, string request, string http, string target, string? body)
    {
        RestBinding[] bindings =
            [.. Library.Bindings.Where(binding => binding.Method.Name == method)];
        ArrayBufferWriter<byte> written = new();

        RestCall call = RestCall.Create(
            bindings, RestProtos.Request(request), written, FormatOptions.Default);

        Assert.Equal((http, target), (call.HttpMethod, call.PathAndQuery));
        Assert.Equal(body is null ? null : "application/json", call.ContentType);
        Assert.Equal(body ?? "", Encoding.UTF8.GetString(written.WrittenSpan));
        Assert.Equal(RestProtos.Request(request), Read(http, target, body ?? ""));
    }

    [Theory]
    [InlineData("GetShelf", "{}",
        "the HTTP rule of rest.Library/GetShelf: the path field 'name' of 'GET /v1/shelves/{name}' is empty. "
        + "Set the field.")]
    [InlineData("GetBook", """{"name":"books/2"}""",
        "'name' of 'GET /v1/{name=shelves/*/books/*}' is 'books/2' (String), which 'shelves/*/books/*' does "
        + "not allow.")]
    [InlineData("GetShelf", """{"name":".."}""", "is '..' (String), which '*' does not allow")]
    [InlineData("UpdateBook", """{"inner":{"name":".."}}""",
        "'inner.name' of 'PATCH /v1/{inner.name=shelves/*/books/*}' is '..' (String), which "
        + "'shelves/*/books/*' does not allow; 'inner.name' of 'PUT /v1/books/{inner.name}/{number}' is "
        + "'..' (String), which '*' does not allow. Set the fields of one of the paths.")]
    [InlineData("ListShelves", """{"inners":[{}]}""", "sends this field in the query")]
    [InlineData("ListShelves", """{"labels":{"a":"b"}}""", "sends this field in the query")]
    [InlineData("ListShelves", """{"struct":{}}""", "sends this field in the query")]
    public static void A_request_without_a_path_is_refused(string method, string request, string why)
    {
        RestBinding[] bindings =
            [.. Library.Bindings.Where(binding => binding.Method.Name == method)];

        RpcException e = Assert.Throws<RpcException>(() => RestCall.Create(
            bindings, RestProtos.Request(request), new ArrayBufferWriter<byte>(), FormatOptions.Default));

        Assert.Contains(why, e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("inner", "{}")]
    [InlineData("inners", "[]")]
    [InlineData("labels", "{}")]
    [InlineData("struct", "{}")]
    [InlineData("time", "null")]
    [InlineData("name", "\"\"")]
    public static void A_body_that_is_a_field_without_a_value_is_its_default(string field, string body)
    {
        RpcSchema schema = RestProtos.WithRules(
            ("Users/Put", RestProtos.Rule(("put", "/v1/users"), ("body", field))));
        ArrayBufferWriter<byte> written = new();

        RestCall.Create(
            RestRules.Read(schema.GetMethod("rest.Users/Put"), []),
            new DynamicMessage(schema.GetMessage("rest.Request")), written, FormatOptions.Default);

        Assert.Equal(body, Encoding.UTF8.GetString(written.WrittenSpan));
    }

    [Fact]
    public static void Raw_bodies_are_bytes_with_their_media_type()
    {
        RpcMessageInfo type = RestProtos.Library.GetMessage("rest.FileRequest");
        DynamicMessage request = MessageFormats.Json.Read(
            type, """{"name":"a","file":{"contentType":"text/plain","data":"aGk="}}""");
        ArrayBufferWriter<byte> body = new();
        RestBinding upload = Library.Bindings.Single(binding => binding.Method.Name == "Upload");

        RestCall call = RestCall.Create([upload], request, body, FormatOptions.Default);

        Assert.Equal("text/plain", call.ContentType);
        Assert.Equal("hi", Encoding.UTF8.GetString(body.WrittenSpan));
        Assert.Equal(request, Read("POST", call.PathAndQuery, "hi", "text/plain"));
    }

    [Fact]
    public static void Replies_are_read_as_the_rule_has_them()
    {
        RpcMessageInfo reply = RestProtos.Library.GetMessage("rest.Reply");
        RpcMessageInfo raw = RestProtos.Library.GetMessage("google.api.HttpBody");

        Assert.Equal("""{"tags":["a"]}""", Reply("GetTags", reply, """["a"]"""));
        Assert.Equal("""{"request":{"name":"x"}}""", Reply("GetRequest", reply, """{"name":"x"}"""));
        Assert.Equal("{}", Reply("GetRequest", reply, "null"));
        Assert.Equal("""{"method":"x"}""", Reply("GetShelf", reply, """{"method":"x"}"""));
        Assert.Equal("""{"contentType":"text/x","data":"aGk="}""", Reply("Download", raw, "hi"));
    }

    private static string Reply(string method, RpcMessageInfo type, string body)
    {
        RestBinding binding = Library.Bindings.First(candidate => candidate.Method.Name == method);
        return MessageFormats.Json.ToText(
            binding.ReplyFormatFor("text/x").Read(type, Encoding.UTF8.GetBytes(body)));
    }

    private static DynamicMessage Read(
        string method, string target, string body, string contentType = "application/json")
    {
        int query = target.IndexOf('?', StringComparison.Ordinal);
        RestMatch match = Library.Find(
            method, RestPath.Parse(query < 0 ? target : target[..query]), new HashSet<string>())!;
        RestRequestFormat format = new(
            match, query < 0 ? "" : target[query..], MessageFormats.Json, contentType);
        return format.Read(
            match.Binding.Method.RequestType,
            new ReadOnlySequence<byte>(Encoding.UTF8.GetBytes(body)), FormatOptions.Default);
    }
}
