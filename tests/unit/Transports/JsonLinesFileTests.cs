using System.Collections.Concurrent;
using System.Text.Json;
using ProtoRpc.Tests.Schema;
using ProtoRpc.Transports.Files;

namespace ProtoRpc.Tests.Transports;

public sealed class JsonLinesFileTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly TempFolder _folder = new();

    private string File => Path.Combine(_folder.Path, "calls.jsonl");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Keeps_lines_in_order_and_flushes_them_when_it_is_closed()
    {
        using (JsonLinesFile file = new(File))
        {
            for (int i = 0; i < 10_000; i++)
            {
                Assert.True(file.TryWrite(i, static (json, number) => json.WriteNumberValue(number)));
            }
        }

        Assert.Equal(
            Enumerable.Range(0, 10_000).Select(i => $"{i}"), System.IO.File.ReadAllLines(File));
    }

    [Fact]
    public void Appends_to_what_is_there_and_ends_a_line_that_was_cut()
    {
        MakeOwn("1\n{\"cut\":");

        using (JsonLinesFile file = new(File))
        {
            Write(file, "two");
        }

        Assert.Equal(["1", "{\"cut\":", "\"two\""], System.IO.File.ReadAllLines(File));
    }

    [Fact]
    public void Is_readable_for_its_owner_alone()
    {
        using JsonLinesFile file = new(File);

        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(
                UnixFileMode.UserRead | UnixFileMode.UserWrite, System.IO.File.GetUnixFileMode(File));
        }
    }

    [Theory]
    [InlineData("a\nb\r\n{\"status\":\"OK\"}")]
    [InlineData("\u001b[2J\u0007\u0000\u009b")]
    [InlineData("\u202edcba\u2066\u200b\ufeff\u2028\u2029\u0085")]
    [InlineData("\"},{\"a\":\"")]
    [InlineData("\ud800 half")]
    public void Lets_no_text_end_its_line_or_reach_a_terminal(string text)
    {
        using (JsonLinesFile file = new(File))
        {
            Write(file, text);
        }

        string line = Assert.Single(System.IO.File.ReadAllText(File).Split('\n')[..^1]);
        Assert.DoesNotContain(line, c => char.IsControl(c) || TerminalText.Neutralize($"{c}") != $"{c}");
        Assert.Equal(
            text.Replace('\ud800', '\ufffd'), JsonSerializer.Deserialize<string>(line));
    }

    [Theory]
    [InlineData("grpc+unix:///a")]
    [InlineData("O'Brien <a&b>`")]
    [InlineData("\\u002B \\\\u002B \\")]
    public void Writes_what_a_search_finds(string text)
    {
        using (JsonLinesFile file = new(File))
        {
            Write(file, text);
        }

        string line = System.IO.File.ReadAllText(File);
        Assert.Equal($"\"{text.Replace("\\", "\\\\", StringComparison.Ordinal)}\"\n", line);
        Assert.Equal(text, JsonSerializer.Deserialize<string>(line));
    }

    [Fact]
    public void Writes_letters_of_all_languages_as_they_are()
    {
        using (JsonLinesFile file = new(File))
        {
            Write(file, "Jürgen 漢字 שלום");
        }

        Assert.Equal("\"Jürgen 漢字 שלום\"\n", System.IO.File.ReadAllText(File));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Goes_on_in_a_new_file_when_its_file_was_moved_away(bool isMadeAgain)
    {
        using (JsonLinesFile file = new(File))
        {
            Write(file, "before");
            Assert.True(file.Flush(Patience));
            System.IO.File.Move(File, File + ".1");
            if (isMadeAgain)
            {
                MakeOwn("");
            }

            Write(file, "after");
        }

        Assert.Equal(["\"before\""], System.IO.File.ReadAllLines(File + ".1"));
        Assert.Equal(["\"after\""], System.IO.File.ReadAllLines(File));
    }

    [Fact]
    public void Goes_on_at_the_begin_of_a_file_that_was_truncated()
    {
        // On Windows, nobody can write to a file that is open for writing.
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using (JsonLinesFile file = new(File))
        {
            Write(file, "before");
            Assert.True(file.Flush(Patience));
            System.IO.File.WriteAllText(File, "");
            Write(file, "after");
        }

        Assert.Equal("\"after\"\n", System.IO.File.ReadAllText(File));
    }

    [Fact]
    public void Loses_lines_that_find_no_room_and_says_how_many()
    {
        using (JsonLinesFile file = new(File, warn: null, waitingBytes: 8))
        {
            Assert.False(Write(file, "far too long for it"));
            Assert.False(Write(file, "and this one, too"));
            Assert.Equal(2, file.Lost);
            Assert.True(Write(file, "fits"));
        }

        string[] lines = System.IO.File.ReadAllLines(File);
        Assert.Equal("\"fits\"", lines[0]);
        Assert.Equal(2, JsonDocument.Parse(lines[1]).RootElement.GetProperty("lost").GetInt32());
        Assert.Equal(2, lines.Length);
    }

    [Fact]
    public async Task Warns_once_while_the_file_cannot_be_written_and_goes_on_when_it_can()
    {
        string folder = Directory.CreateDirectory(Path.Combine(_folder.Path, "logs")).FullName;
        string path = Path.Combine(folder, "calls.jsonl");
        ConcurrentQueue<string> warnings = new();
        using (JsonLinesFile file = new(path, warnings.Enqueue))
        {
            Write(file, "one");
            Assert.True(file.Flush(Patience));
            Directory.Move(folder, folder + ".old");
            Write(file, "two");
            await Eventually.TrueAsync(() => file.Lost == 1, "a line is lost");
            Write(file, "three");
            await Eventually.TrueAsync(() => file.Lost == 2, "two lines are lost");
            Directory.CreateDirectory(folder);
            Write(file, "four");
        }

        Assert.Contains(path, Assert.Single(warnings));
        string[] lines = System.IO.File.ReadAllLines(path);
        Assert.Equal("\"four\"", lines[0]);
        Assert.Equal(2, JsonDocument.Parse(lines[1]).RootElement.GetProperty("lost").GetInt32());
    }

    [Fact]
    public void Refuses_a_path_that_cannot_be_written()
    {
        RpcException error = Assert.Throws<RpcException>(() => new JsonLinesFile(_folder.Path));

        Assert.Equal(RpcErrorIds.CannotWriteFile, error.ErrorId);
        Assert.Contains(_folder.Path, error.Message);
    }

    [Fact]
    public void Takes_lines_of_many_threads_and_of_two_writers_of_one_file()
    {
        using (JsonLinesFile one = new(File))
        using (JsonLinesFile other = new(File))
        {
            Parallel.For(0, 4_000, i => Assert.True(Write(i % 2 == 0 ? one : other, $"line {i}")));
        }

        Assert.Equal(
            Enumerable.Range(0, 4_000).Select(i => $"\"line {i}\"").Order(StringComparer.Ordinal),
            System.IO.File.ReadAllLines(File).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Adds_nothing_of_a_line_whose_writer_throws()
    {
        using (JsonLinesFile file = new(File))
        {
            Assert.Throws<FormatException>(() => file.TryWrite("half", static (json, text) =>
            {
                json.WriteStartObject();
                json.WriteString("name", text);
                throw new FormatException();
            }));
            Write(file, "whole");
        }

        Assert.Equal("\"whole\"\n", System.IO.File.ReadAllText(File));
    }

    [Fact]
    public void Takes_no_line_once_it_is_closed()
    {
        JsonLinesFile file = new(File);
        file.Dispose();
        file.Dispose();

        Assert.False(Write(file, "late"));
        Assert.Equal("", System.IO.File.ReadAllText(File));
    }

    private void MakeOwn(string text)
    {
        System.IO.File.WriteAllText(File, text);
        if (!OperatingSystem.IsWindows())
        {
            System.IO.File.SetUnixFileMode(File, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        }
    }

    private static bool Write(JsonLinesFile file, string text) =>
        file.TryWrite(text, static (json, value) => json.WriteStringValue(value));
}
