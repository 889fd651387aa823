using ProtoRpc.Schema;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Schema;

public static class SchemaComparisonTests
{
    private const string Ours = """
        syntax = "proto3";
        package c;
        service S { rpc Ask (Q) returns (A); rpc Watch (Q) returns (stream A); }
        message Q { string text = 1; int32 n = 2; }
        message A { repeated Hit hits = 1; map<string, int32> counts = 2; A next = 3; }
        message Hit { string url = 1; }
        """;

    [Fact]
    public static void A_schema_is_like_itself() => Assert.Empty(Compare(Ours));

    [Theory]
    [InlineData(
        "string url = 1;", "int32 url = 1;", "c.Hit.url (number 1) is string here, int32 on the server")]
    [InlineData(
        "string url = 1;", "repeated string url = 1;", "is string here, repeated string on the server")]
    [InlineData("string url = 1;", "string url = 5;", "c.Hit.url has number 1 here, 5 on the server")]
    [InlineData(
        "string text = 1; int32 n = 2;", "string n = 1; int32 text = 2;", "number 1 is c.Q.text here, c.Q.n")]
    [InlineData(
        "map<string, int32> counts", "map<string, string> counts", "value (number 2) is int32 here, string")]
    [InlineData("map<string, int32> counts", "int32 counts", "is a map here, int32 on the server")]
    [InlineData("rpc Ask (Q) returns (A); ", "", "no method c.S/Ask")]
    [InlineData("returns (stream A)", "returns (A)", "c.S/Watch streams differently")]
    public static void A_difference_that_loses_something_is_named(
        string here, string there, string difference)
    {
        Assert.Contains(
            difference, Assert.Single(Compare(Ours.Replace(here, there, StringComparison.Ordinal)).Take(1)),
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("string url = 1;", "string address = 1;")]
    [InlineData("string url = 1;", "string url = 1; bytes body = 2;")]
    [InlineData("string url = 1;", "")]
    [InlineData("message Hit { string url = 1; }", "message Match { string url = 1; }")]
    public static void What_services_may_change_is_no_difference(string here, string there)
    {
        string theirs = Ours.Replace(here, there, StringComparison.Ordinal);
        Assert.Empty(Compare(theirs.Contains("Match", StringComparison.Ordinal)
            ? theirs.Replace("Hit hits", "Match hits", StringComparison.Ordinal)
            : theirs));
    }

    [Fact]
    public static void Another_schema_altogether_is_named_in_few_words()
    {
        string fields = string.Concat(Enumerable.Range(1, 500).Select(i => $"int32 f{i} = {i};"));
        string ours = $"syntax = \"proto3\"; package c; service S {{ rpc R (M) returns (M); }} message "
            + $"M {{ {fields} }}";

        IReadOnlyList<string> differences = SchemaComparison.Compare(
            ReplyMismatchTests.Load(ours).Services,
            ReplyMismatchTests.Load(ours.Replace("int32", "string", StringComparison.Ordinal)));

        Assert.InRange(differences.Count, 2, 30);
    }

    private static IReadOnlyList<string> Compare(string theirs) =>
        SchemaComparison.Compare(ReplyMismatchTests.Load(Ours).Services, ReplyMismatchTests.Load(theirs));
}
