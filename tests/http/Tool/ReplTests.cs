using ProtoRpc.Tool;
using ProtoRpc.Tool.Repl;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc repl</c>, with commands of a text, and its parts.</summary>
public static class ReplTests
{
    [Fact]
    public static async Task Commands_of_a_text_are_done_one_after_the_other()
    {
        using WordsServer server = new();

        (int code, string output, string error) = await RunAsync(
            server, "# a comment", "methods", "call Say text=hi", "call Say {\"text\":\"json\"}", "call Join",
            "text=a", "{\"text\":\"b\"}", ".", "call Split text='x y'", "exit", "bogus");

        Assert.Equal((0, ""), (code, error));
        Assert.Contains("streams.Words/Chat: Chat (stream", output, StringComparison.Ordinal);
        foreach (string text in new[] { "hi", "json", "x", "y" })
        {
            Assert.Contains($"\"text\": \"{text}\"", output, StringComparison.Ordinal);
        }
    }

    [Fact]
    public static async Task A_command_that_fails_is_told_and_the_next_one_is_done()
    {
        using WordsServer server = new();

        (int code, string output, string error) = await RunAsync(
            server, "bogus", "call Nothing", "call Say txt=1", "call Say {", "describe Nothing", "header x",
            "call", "call Say 'a", "show services", "call Say text=last");

        Assert.Equal(1, code);
        Assert.Equal(8, error.TrimEnd('\n').Split('\n').Length);
        Assert.Contains("no command 'bogus'", error, StringComparison.Ordinal);
        Assert.Contains("\"text\": \"last\"", output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_method_without_call_and_a_misspelt_command_are_answered_with_the_right_one()
    {
        using WordsServer server = new();

        (_, string output, string error) = await RunAsync(server, "Say text=hi", "cal Say", "list", "help");

        Assert.Contains("'Say' is a method. Type call Say text=hi\n", error, StringComparison.Ordinal);
        Assert.Contains("no command 'cal'. Did you mean 'call'? Type help.", error, StringComparison.Ordinal);
        Assert.StartsWith("streams.Words\n", output, StringComparison.Ordinal);
        Assert.Contains("exit, quit ", output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Nothing_that_a_server_sends_moves_the_cursor()
    {
        using WordsServer server = new();

        (_, string output, _) = await RunAsync(
            server, "call Say {\"text\":\"\\u001b[2J \\u009b \\u202e\"}");

        Assert.DoesNotContain(output, c => c is '\u001B' or '\u009B' or '\u202E');
    }

    [Fact]
    public static void A_template_has_the_defaults_of_a_schema_as_escapes()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string path = Path.Combine(folder.FullName, "a.proto");
            File.WriteAllText(
                path,
                """
                syntax = "proto2";
                message M {
                  optional string a = 1 [default = "\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xc2\x9b\x1b[2J\x7f"];
                }
                """);
            RpcMessageInfo type = RpcSchema.Load([path]).GetMessage("M");

            string template = RequestTemplate.Create(type);

            Assert.True(template.All(c => c is '\n' or (>= ' ' and <= '~')), template);
            Assert.Equal(
                "\u202E\u2066\u061C\u009B\u001B[2J\u007F",
                MessageFormats.Json.Read(type, System.Text.Encoding.UTF8.GetBytes(template))["a"]);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static void Words_are_completed_by_the_schema()
    {
        ReplCompleter completer = new(Session());

        Assert.Equal(["call"], completer.Complete("ca").Words);
        Assert.Equal("5 streams.Words/Say,streams.Words/Split", Of("call streams.Words/S"));
        Assert.Equal("23 text=", Of("call streams.Words/Say t"));
        Assert.Equal("4 streams.Words", Of("use streams.W"));
        Assert.Equal("5 Split", Of("call Sp"));
        Assert.Equal("5 ", Of("call Sa"));
        Assert.Empty(completer.Complete("call Nothing t").Words);
        Assert.Empty(completer.Complete("nothing x").Words);

        string Of(string line)
        {
            (int start, IReadOnlyList<string> words) = completer.Complete(line);
            return $"{start} {string.Join(',', words)}";
        }
    }

    [Theory]
    [InlineData("call streams.Words/Sa\tt\thi\r", "call streams.Words/Say text=hi")]
    [InlineData("abc\b\bX\r", "aX")]
    [InlineData("abc\u0001X\r", "Xabc")]
    [InlineData("abc\u0001\u000Bdone\r", "done")]
    [InlineData("one two\u0017three\r", "one three")]
    [InlineData("abc\u0015x\r", "x")]
    [InlineData("\u001B\u009B\u0000ok\r", "ok")]
    public static void Keys_edit_the_line(string keys, string line)
    {
        Assert.Equal(line, Edit(keys).Text);
    }

    [Fact]
    public static void Control_c_gives_a_line_up_and_control_d_ends_the_input()
    {
        Assert.True(Edit("abc\u0003").IsCancelled);
        Assert.Null(Edit("\u0004").Text);
        Assert.Equal("a", Edit("a\u0004\r").Text);
    }

    [Fact]
    public static void History_is_for_its_owner_alone_and_has_no_secrets()
    {
        string folder = Directory.CreateTempSubdirectory("protorpc-").FullName;
        try
        {
            string path = ReplHistory.PathOf(name => name == "XDG_STATE_HOME" ? folder : null)!;
            ReplHistory history = new(path);
            foreach (string line in new[]
            {
                "call Say text=a", "header authorization: Bearer x", "call Login password=x", " hidden",
                "call Say text=a", new string('x', 10_000), "services",
            })
            {
                history.Add(line);
            }

            Assert.Equal(["call Say text=a", "services"], new ReplHistory(path).Lines);
            if (!OperatingSystem.IsWindows())
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            }
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static TypedLine Edit(string keys)
    {
        Queue<char> left = new(keys);
        LineEditor editor = new(
            () => KeyOf(left.Dequeue()), _ => { }, () => 0, new ReplCompleter(Session()).Complete, []);
        return editor.ReadLine("> ");
    }

    private static ConsoleKeyInfo KeyOf(char c) => c switch
    {
        '\t' => new(c, ConsoleKey.Tab, false, false, false),
        '\r' => new(c, ConsoleKey.Enter, false, false, false),
        '\b' => new(c, ConsoleKey.Backspace, false, false, false),
        >= '\u0001' and <= '\u001A' => new(c, ConsoleKey.A + c - 1, false, false, control: true),
        >= 'a' and <= 'z' => new(c, ConsoleKey.A + c - 'a', false, false, false),
        _ => new(c, ConsoleKey.None, false, false, false),
    };

    private static ReplSession Session() =>
        new(WordsServer.Schema, new ToolConsole(TextReader.Null, TextWriter.Null, TextWriter.Null));

    private static async Task<(int Code, string Output, string Error)> RunAsync(
        WordsServer server, params string[] lines)
    {
        using StringWriter output = new() { NewLine = "\n" };
        using StringWriter error = new() { NewLine = "\n" };
        ToolConsole console = new(new StringReader(string.Join('\n', lines)), output, error);
        int code = await ToolCommand.RunAsync(
            ["repl", $"{server.Endpoint}", "--service", "streams.Words"], console);
        return (code, output.ToString(), error.ToString());
    }
}
