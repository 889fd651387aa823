using ProtoRpc.Messages;

namespace ProtoRpc.Tests.Messages;

public static class PageCursorTests
{
    private static readonly PagedMethod Books = PagedMethod.Create(PagedMethodTests.MethodOf(
        "string page_token = 1; string shelf = 2;",
        "repeated string books = 1; string next_page_token = 2;"));

    [Fact]
    public static void Asks_for_each_page_with_the_token_of_the_one_before()
    {
        DynamicMessage first = new(Books.Method.RequestType) { ["shelf"] = "top" };
        PageCursor cursor = new(Books, first);

        Assert.Equal("", cursor.Request["page_token"]);
        Assert.True(cursor.MoveNext(Page("two", "a")));
        DynamicMessage second = cursor.Request;
        Assert.True(cursor.MoveNext(Page("three", "b")));
        Assert.Equal("three", cursor.Request["page_token"]);
        Assert.False(cursor.MoveNext(Page("", "c")));

        Assert.Equal(("two", "top"), (second["page_token"], second["shelf"]));
        Assert.Equal("", first["page_token"]);
    }

    [Fact]
    public static void Ends_where_a_token_repeats()
    {
        PageCursor cursor =
            new(Books, new DynamicMessage(Books.Method.RequestType) { ["page_token"] = "one" });

        Assert.True(cursor.MoveNext(Page("two", "a")));
        RpcException error = Assert.Throws<RpcException>(() => cursor.MoveNext(Page("one", "b")));

        Assert.Equal((RpcStatusCode.Internal, RpcErrorIds.EndlessPages), (error.Code, error.ErrorId));
        Assert.Contains("the same page token a second time", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Ends_after_many_pages_without_elements()
    {
        PageCursor cursor = new(Books, new DynamicMessage(Books.Method.RequestType));
        for (int i = 0; i < 20_000; i++)
        {
            Assert.True(cursor.MoveNext(i % 5000 == 0 ? Page($"{i}", "a") : Page($"{i}")));
        }

        RpcException error = Assert.Throws<RpcException>(() =>
        {
            for (int i = 0; i < PageCursor.MaxEmptyPages; i++)
            {
                cursor.MoveNext(Page($"empty {i}"));
            }
        });

        Assert.Equal(RpcErrorIds.EndlessPages, error.ErrorId);
        Assert.Contains("10,000 pages without elements", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0, 1)]
    [InlineData(0, 50_000)]
    [InlineData(99_999, 2)]
    [InlineData(150_000, 1)]
    [InlineData(150_000, 7)]
    [InlineData(90_000, 120_000)]
    public static void A_circle_of_tokens_is_found_however_long_it_is(int before, int circle)
    {
        SeenTokens seen = new();
        int added = 0;
        while (seen.Add($"{(added < before ? added : before + ((added - before) % circle))}"))
        {
            added++;
            Assert.True(added < 2_000_000, "The circle was not found.");
        }

        Assert.True(added >= before + circle, "A token was taken for another one.");
    }

    [Fact]
    public static void Long_tokens_need_no_memory()
    {
        SeenTokens seen = new();
        long before = GC.GetTotalMemory(forceFullCollection: true);
        for (int i = 0; i < 300; i++)
        {
            Assert.True(seen.Add($"{i}{new string('x', 1_000_000)}"));
        }

        // The memory is that of all tests that run now, so the limit is half of what the tokens would take.
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 300_000_000);
        Assert.False(seen.Add($"7{new string('x', 1_000_000)}"));
    }

    private static DynamicMessage Page(string next, params string[] books)
    {
        DynamicMessage page = new(Books.Method.ReplyType) { ["next_page_token"] = next };
        page.Set(Books.Elements, books.ToList());
        return page;
    }
}
