using ProtoRpc.Messages;
using ProtoRpc.Tests.ServiceCommands;

namespace ProtoRpc.Tests.Messages;

public static class PagedMethodTests
{
    [Theory]
    [InlineData("string page_token = 1;", "repeated Book books = 1; string next_page_token = 2;", "books")]
    [InlineData(
        "int32 page_size = 1; string page_token = 2;",
        "string next_page_token = 1; repeated string names = 2; int32 total_size = 3;", "names")]
    [InlineData(
        "optional string page_token = 1;", "repeated int64 ids = 1; string next_page_token = 2;", "ids")]
    [InlineData(
        "string page_token = 1;",
        "repeated Book books = 1; string next_page_token = 2; map<string, string> notes = 3;", "books")]
    [InlineData(
        "string page_token = 1;",
        "repeated Book books = 1; string next_page_token = 2; repeated string unreachable = 3;", "books")]
    [InlineData(
        "string page_token = 1;", "repeated string unreachable = 1; string next_page_token = 2;",
        "unreachable")]
    public static void Finds_the_list(string request, string reply, string elements)
    {
        RpcMethodInfo method = MethodOf(request, reply);

        PagedMethod paged = PagedMethod.Create(method);

        Assert.True(PagedMethod.IsPaged(method));
        Assert.Equal(elements, paged.Elements.Name);
        Assert.Equal("page_token", paged.Token.Name);
        Assert.Equal("next_page_token", paged.NextToken.Name);
        Assert.Equal(
            reply.Contains("string unreachable = 3", StringComparison.Ordinal) ? "unreachable" : null,
            paged.Unreachable?.Name);
    }

    [Theory]
    [InlineData(
        "int32 page_size = 1;", "repeated Book books = 1; string next_page_token = 2;", "",
        "its request shop.ListBooksRequest has no string field page_token")]
    [InlineData(
        "bytes page_token = 1;", "repeated Book books = 1; string next_page_token = 2;", "",
        "its request shop.ListBooksRequest has no string field page_token")]
    [InlineData(
        "repeated string page_token = 1;", "repeated Book books = 1; string next_page_token = 2;", "",
        "its request shop.ListBooksRequest has no string field page_token")]
    [InlineData(
        "string page_token = 1;", "repeated Book books = 1;", "",
        "its reply shop.ListBooksReply has no string field next_page_token")]
    [InlineData(
        "string page_token = 1;", "repeated Book books = 1; int32 next_page_token = 2;", "",
        "its reply shop.ListBooksReply has no string field next_page_token")]
    [InlineData(
        "string page_token = 1;", "Book book = 1; string next_page_token = 2; map<string, Book> all = 3;", "",
        "its reply shop.ListBooksReply has no repeated field")]
    [InlineData(
        "string page_token = 1;",
        "repeated Book books = 1; string next_page_token = 2; repeated string names = 3;", "",
        "its reply shop.ListBooksReply has 2 repeated fields (books, names)")]
    [InlineData(
        "string page_token = 1;", "repeated Book books = 1; string next_page_token = 2;", "stream ",
        "it streams")]
    public static void Names_what_is_missing(string request, string reply, string stream, string problem)
    {
        RpcMethodInfo method = MethodOf(request, reply, stream);

        RpcException error = Assert.Throws<RpcException>(() => PagedMethod.Create(method));

        Assert.False(PagedMethod.IsPaged(method));
        Assert.Equal((RpcStatusCode.InvalidArgument, RpcErrorIds.NotPaged), (error.Code, error.ErrorId));
        Assert.Equal(
            $"shop.Shop/ListBooks does not return a list in pages: {problem}. Call it without following "
                + "pages.",
            error.Message);
    }

    [Fact]
    public static void A_long_list_of_fields_is_cut()
    {
        string lists = string.Join(' ', Enumerable.Range(2, 100).Select(i => $"repeated string f{i} = {i};"));

        RpcException error = Assert.Throws<RpcException>(() => PagedMethod.Create(
            MethodOf("string page_token = 1;", $"string next_page_token = 1; {lists}")));

        Assert.Contains(
            "has 100 repeated fields (f2, f3, f4, f5, f6, ...)", error.Message, StringComparison.Ordinal);
    }

    internal static RpcMethodInfo MethodOf(string request, string reply, string stream = "") =>
        CommandSchema.Of(
            $$"""
            message Book { string title = 1; }
            message ListBooksRequest { {{request}} }
            message ListBooksReply { {{reply}} }
            service Shop { rpc ListBooks (ListBooksRequest) returns ({{stream}}ListBooksReply); }
            """).GetMethod("ListBooks");
}
