namespace ProtoRpc.Tests.Shared;

public static class TerminalTextTests
{
    [Theory]
    [InlineData("\u001B[31mred", "\\u001B[31mred")]
    [InlineData("a\u009B2Jb", "a\\u009B2Jb")]
    [InlineData("\a\b\f\v\0\u007F", "\\u0007\\u0008\\u000C\\u000B\\u0000\\u007F")]
    [InlineData("user\u202Etxt.exe", "user\\u202Etxt.exe")]
    [InlineData("\u2066a\u2069\u200F\u061C\u2028", "\\u2066a\\u2069\\u200F\\u061C\\u2028")]
    [InlineData("whole line\rOK", "whole line\\u000DOK")]
    [InlineData("end\r", "end\\u000D")]
    public static void Writes_what_controls_a_terminal_by_its_number(string text, string shown) =>
        Assert.Equal(shown, TerminalText.Neutralize(text));

    [Theory]
    [InlineData("")]
    [InlineData("plain text, \u00E4\u00F6\u00FC \u65E5\u672C\u8A9E \U0001F469\u200D\U0001F4BB")]
    [InlineData("two\nlines\r\nand\ta tab")]
    public static void Leaves_the_rest(string text) => Assert.Same(text, TerminalText.Neutralize(text));

    [Fact]
    public static void Exceptions_have_neutral_texts()
    {
        const string Hostile = "\u001B]0;pwned\a\u202E";
        const string Shown = "\\u001B]0;pwned\\u0007\\u202E";

        RpcException error = new(RpcStatusCode.Unknown, Hostile)
        {
            Trailers = new Dictionary<string, string> { [Hostile] = Hostile, ["fine"] = "also" },
            Remote = new RpcRemoteException(Hostile, Hostile, Hostile)
            {
                StackTrace = Hostile,
                Source = Hostile,
                HelpLink = Hostile,
                Data = new Dictionary<string, string> { [Hostile] = Hostile },
            },
        };

        Assert.Equal(Shown, error.Message);
        Assert.Equal(Shown, error.Trailers[Shown]);
        Assert.Equal("also", error.Trailers["fine"]);
        RpcRemoteException remote = error.Remote;
        Assert.All(
            [remote.TypeName, remote.AssemblyName, remote.Message, remote.StackTrace, remote.Source,
                remote.HelpLink],
            text => Assert.Equal(Shown, text));
        Assert.Equal(Shown, remote.Data[Shown]);
        Assert.DoesNotContain(remote.ToString(), c => c is '\u001B' or '\a' or '\u202E');
    }
}
