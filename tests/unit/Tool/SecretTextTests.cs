using System.Net;
using ProtoRpc.Tool;
using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tests.Tool;

public static class SecretTextTests
{
    [Fact]
    public static void A_password_is_asked_for_where_only_the_name_is_given()
    {
        string? asked = null;
        ToolConsole console = Console(prompt =>
        {
            asked = prompt;
            return "pass:word";
        });

        NetworkCredential user = SecretText.ReadUser("--user", @"CORP\ann", console);

        Assert.Equal((@"CORP\ann", "pass:word"), (user.UserName, user.Password));
        Assert.Equal(@"Password of CORP\ann: ", asked);
    }

    [Theory]
    [InlineData("ann:pass:word", "pass:word")]
    [InlineData("ann:env:ANN", "of-ann")]
    public static void Nobody_is_asked_where_it_is_given(string text, string password)
    {
        ToolConsole console = Console(_ => throw new InvalidOperationException());

        Assert.Equal(password, SecretText.ReadUser("--user", text, console).Password);
    }

    [Theory]
    [InlineData("secret:TOKEN")]
    [InlineData("Secret:VAULT/TOKEN")]
    public static void A_secret_of_SecretManagement_is_not_taken_for_the_secret_itself(string text)
    {
        ToolConsole console = Console(_ => throw new InvalidOperationException());

        UsageException e = Assert.Throws<UsageException>(() => SecretText.Read("--bearer", text, console));

        Assert.Contains("env:NAME", e.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("TOKEN", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ann")]
    [InlineData("")]
    [InlineData(":x")]
    public static void Where_nobody_can_be_asked_the_error_says_how_to_keep_it_secret(string text)
    {
        UsageException error = Assert.Throws<UsageException>(
            () => SecretText.ReadUser("--user", text, Console(ask: null)));

        Assert.Contains("NAME:env:VARIABLE", error.Message, StringComparison.Ordinal);
        Assert.Contains("other users", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ann", "")]
    [InlineData("ann:", "x")]
    [InlineData("\u001b[2Jann", "")]
    public static void An_empty_password_is_an_error(string text, string answer)
    {
        UsageException error = Assert.Throws<UsageException>(
            () => SecretText.ReadUser("--user", text, Console(_ => answer)));

        Assert.DoesNotContain("\u001b", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Keys_are_read_up_to_Enter_and_Backspace_takes_one_back()
    {
        Assert.Equal("päß ", SecretPrompt.Read(Keys("pä\b\bpäx\bß \0\t\r")));
        Assert.Equal("", SecretPrompt.Read(Keys("\b\r")));
    }

    [Fact]
    public static void Control_and_C_gives_up()
    {
        Assert.Throws<OperationCanceledException>(() => SecretPrompt.Read(Keys("a\u0003\r")));
    }

    private static Func<ConsoleKeyInfo> Keys(string text)
    {
        Queue<char> keys = new(text);
        return () => keys.Dequeue() switch
        {
            '\r' => new('\r', ConsoleKey.Enter, false, false, false),
            '\b' => new('\b', ConsoleKey.Backspace, false, false, false),
            '\u0003' => new('\u0003', ConsoleKey.C, false, false, control: true),
            var c => new(c, ConsoleKey.None, false, false, false),
        };
    }

    private static ToolConsole Console(Func<string, string>? ask) =>
        new(TextReader.Null, TextWriter.Null, TextWriter.Null)
        {
            AskSecret = ask,
            Variable = name => name == "ANN" ? "of-ann" : null,
        };
}
