using System.Text.Json;
using Google.Protobuf;
using ProtoRpc.Tests.Mocks;
using ProtoRpc.Tests.Schema;
using ErrorInfo = ProtoRpc.Protocols.Grpc.Proto.ErrorInfo;

namespace ProtoRpc.Tests.Server.Recording;

public static class RpcCallRecorderTests
{
    [Fact]
    public static async Task Calls_of_all_kinds_are_lines_of_JSON()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path))
        using (RpcMock mock = Mock(recorder))
        {
            mock.Reply("Watch", [new[] { Store.Item("a"), Store.Item("b") }])
                .Reply("Find", Store.Item("found"), new RpcException(RpcStatusCode.NotFound, "no \e[31m x")
                {
                    Details = [Google.Protobuf.WellKnownTypes.Duration.FromTimeSpan(TimeSpan.FromSeconds(3))],
                });
            using RpcClient client = Store.Connect(mock.Endpoint);
            Store.Find(client, "1");
            Assert.Throws<RpcException>(() => Store.Find(client, "2"));
            await Store.WatchAsync(client, "3");
            await Store.SendAsync(client, "Collect", "4", "5");
            await Store.SendAsync(client, "Talk", "6");
        }

        JsonElement[] lines = Lines(path);

        Assert.Equal(5, lines.Length);
        JsonElement first = lines[0];
        Assert.Equal("store.Store/Find", first.GetProperty("method").GetString());
        Assert.Equal("1", first.GetProperty("request").GetProperty("text").GetString());
        Assert.Equal("found", first.GetProperty("reply").GetProperty("name").GetString());
        Assert.Equal("OK", first.GetProperty("status").GetString());
        Assert.Equal(DateTimeKind.Utc, first.GetProperty("time").GetDateTime().Kind);
        Assert.InRange(first.GetProperty("milliseconds").GetDouble(), 0, 60_000);
        Assert.NotEqual("", first.GetProperty("user").GetString());
        Assert.Equal("NotFound", lines[1].GetProperty("status").GetString());
        Assert.DoesNotContain('\e', lines[1].GetProperty("message").GetString()!);
        Assert.False(lines[1].TryGetProperty("reply", out _));
        Assert.Equal(2, lines[2].GetProperty("replies").GetArrayLength());
        Assert.Equal(2, lines[3].GetProperty("requests").GetArrayLength());
        Assert.Equal(1, lines[4].GetProperty("requests").GetArrayLength());
    }

    [Fact]
    public static void Masked_fields_are_nowhere_in_the_file()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        RpcCallRecorderOptions options = new() { Mask = ["password", "key", "pin", "tokens", "x-secret"] };
        Google.Protobuf.WellKnownTypes.Any detail = AnyOf("store.Login", "s3cret-in-any");
        using (RpcCallRecorder recorder = new(path, options))
        using (RpcMock mock = Mock(recorder))
        {
            mock.Reply("Find", RpcMethodHandler.Create((_, request) => throw new RpcException(
                RpcStatusCode.PermissionDenied,
                $"wrong password {((DynamicMessage)((DynamicMessage)request)["login"]!)["password"]}")));
            using RpcClient client = Store.Connect(mock.Endpoint);
            Dictionary<string, object> login = new()
            {
                ["user"] = "ann",
                ["password"] = "s3cret-top",
                ["key"] = "s3cret-bytes"u8.ToArray(),
                ["pin"] = 987654321,
            };
            Assert.Throws<RpcException>(() => client.Invoke("Find", new Dictionary<string, object>
            {
                ["text"] = "x",
                ["login"] = login,
                ["others"] = new[] { login, login },
                ["headers"] = new Dictionary<string, object>
                {
                    ["X-Secret"] = "s3cret-header",
                    ["a"] = "kept",
                },
                ["by_name"] = new Dictionary<string, object> { ["ann"] = login },
                ["extra"] = new Dictionary<string, object>
                {
                    ["list"] = new object[]
                    {
                        new Dictionary<string, object> { ["PASSWORD"] = "s3cret-struct" },
                    },
                    ["pin"] = 987654321,
                },
                ["detail"] = detail,
                ["tokens"] = new[] { "s3cret-token" },
            }));
        }

        string text = File.ReadAllText(path);

        Assert.DoesNotContain("s3cret", text, StringComparison.Ordinal);
        Assert.DoesNotContain("987654321", text, StringComparison.Ordinal);
        Assert.DoesNotContain(Convert.ToBase64String("s3cret-bytes"u8), text, StringComparison.Ordinal);
        Assert.Contains("kept", text, StringComparison.Ordinal);
        Assert.Contains("ann", text, StringComparison.Ordinal);
        Assert.Contains("wrong password ***", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_masked_value_is_not_in_the_details_of_an_error_either()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        const string Password = "s3cret\u001Bwith escape";
        using (RpcCallRecorder recorder = new(path, new RpcCallRecorderOptions { Mask = ["password"] }))
        using (RpcMock mock = Mock(recorder))
        {
            mock.Reply("Find", RpcMethodHandler.Create((_, _) => throw new RpcException(
                RpcStatusCode.InvalidArgument, $"wrong password {Password}")
            {
                Details =
                [
                    new ErrorInfo { Reason = "WEAK", Metadata = { ["given"] = Password } },
                    new ErrorInfo { Reason = "KEPT" },
                ],
            }));
            using RpcClient client = Store.Connect(mock.Endpoint);
            RpcException error = Assert.Throws<RpcException>(
                () => client.Invoke("Find", new Dictionary<string, object>
                {
                    ["text"] = "x",
                    ["login"] = new Dictionary<string, object> { ["user"] = "ann", ["password"] = Password },
                }));
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
            Assert.Equal(2, error.Details.Count);
        }

        string text = File.ReadAllText(path);

        Assert.DoesNotContain("s3cret", text, StringComparison.Ordinal);
        Assert.Contains("wrong password ***", text, StringComparison.Ordinal);
        Assert.Contains("KEPT", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_path_masks_only_what_is_at_its_end()
    {
        DynamicMessage line = MaskedQuery(["login.password", "oth*.p?n"]);

        DynamicMessage login = (DynamicMessage)line["login"]!;
        DynamicMessage other = (DynamicMessage)((System.Collections.IList)line["others"]!)[0]!;
        Assert.Equal(("***", 5L), (login["password"], login["pin"]));
        Assert.Equal(("p", 0L), (other["password"], other["pin"]));
    }

    [Fact]
    public static void A_masked_message_is_masked_as_a_whole()
    {
        DynamicMessage line = MaskedQuery(["login"]);

        DynamicMessage login = (DynamicMessage)line["login"]!;
        Assert.Equal(("***", "***", 0L), (login["user"], login["password"], login["pin"]));
    }

    [Fact]
    public static void What_cannot_be_read_is_not_written_where_fields_are_masked()
    {
        using TempFolder folder = new();
        string masked = Path.Combine(folder.Path, "masked.jsonl");
        string plain = Path.Combine(folder.Path, "plain.jsonl");
        object request = new { text = "x", detail = AnyOf("unknown.Type", "s3cret") };

        Record(masked, request, new RpcCallRecorderOptions { Mask = ["password"] });
        Record(plain, request);

        Assert.DoesNotContain("s3cret", File.ReadAllText(masked), StringComparison.Ordinal);
        string base64 = Lines(plain).Single()
            .GetProperty("request").GetProperty("detail").GetProperty("value").GetString()!;
        Assert.Contains("s3cret", System.Text.Encoding.UTF8.GetString(Convert.FromBase64String(base64)));
    }

    [Fact]
    public static void A_token_of_a_header_is_not_written_though_the_handler_quotes_it()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path))
        using (RpcMock mock = Mock(recorder))
        {
            mock.Reply("Find", RpcMethodHandler.Create((context, _) => throw new RpcException(
                RpcStatusCode.Unauthenticated, $"bad {context.RequestHeaders.GetText("authorization")}")));
            using RpcClient client = Store.Connect(mock.Endpoint);
            RpcMetadata headers = new();
            headers.Add("authorization", "Bearer s3cret");
            Assert.Throws<RpcException>(() => client.Invoke(
                "Find", Store.Query("x"), new RpcCallOptions { Headers = headers }));
        }

        Assert.DoesNotContain("s3cret", File.ReadAllText(path), StringComparison.Ordinal);
    }

    [Fact]
    public static void Masks_that_no_field_has_are_found()
    {
        using TempFolder folder = new();
        using RpcCallRecorder recorder = new(
            Path.Combine(folder.Path, "c.jsonl"),
            new() { Mask = ["pasword", "login.password", "BYNAME", "x*", "login.usr"] });

        Assert.Equal(["pasword", "login.usr"], recorder.FindUnknownMasks(Store.Schema.Services));
    }

    [Theory]
    [InlineData("")]
    [InlineData("a..b")]
    [InlineData("login.")]
    public static void A_mask_with_an_empty_name_is_refused(string mask)
    {
        using TempFolder folder = new();

        Assert.Equal(RpcStatusCode.InvalidArgument, Assert.Throws<RpcException>(() => new RpcCallRecorder(
            Path.Combine(folder.Path, "c.jsonl"), new() { Mask = [mask] })).Code);
    }

    [Fact]
    public static void A_file_that_cannot_be_written_is_refused_at_the_start()
    {
        using TempFolder folder = new();

        RpcException error = Assert.Throws<RpcException>(
            () => new RpcCallRecorder(Path.Combine(folder.Path, "no", "such", "folder.jsonl")));

        Assert.Equal(RpcErrorIds.CannotWriteFile, error.ErrorId);
    }

    [Fact]
    public static void Lines_are_added_to_a_file_that_is_there_and_its_owner_alone_reads_a_new_one()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");

        Record(path, Store.Query("1"));
        Record(path, Store.Query("2"));

        Assert.Equal(2, Lines(path).Length);
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
        }
    }

    [Fact]
    public static void A_full_disk_is_a_warning_and_no_failed_call()
    {
        if (!File.Exists("/dev/full"))
        {
            return;
        }

        List<string> warnings = [];
        RpcCallRecorderOptions options = new() { Warning = warnings.Add };
        using (RpcCallRecorder recorder = new("/dev/full", options))
        using (RpcMock mock = Mock(recorder))
        {
            using RpcClient client = Store.Connect(mock.Endpoint);
            for (int i = 0; i < 50; i++)
            {
                Assert.Equal("", Store.Find(client, "x"));
            }

            mock.Dispose();
            recorder.Dispose();
            Assert.Equal((0, 50), (recorder.Written, recorder.Lost));
        }

        Assert.Equal(2, warnings.Count);
        Assert.Contains("/dev/full", warnings[0], StringComparison.Ordinal);
        Assert.Contains("50 calls were not recorded", warnings[1], StringComparison.Ordinal);
    }

    [Fact]
    public static void Calls_over_the_queue_are_counted_and_answered()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        RpcCallRecorder recorder = new(path, new() { MaxQueuedCalls = 0 });
        using RpcMock mock = Mock(recorder);
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal("", Store.Find(client, "x"));
        mock.Dispose();
        recorder.Dispose();

        Assert.Equal((0, 1), (recorder.Written, recorder.Lost));
    }

    [Fact]
    public static async Task Calls_of_many_threads_are_whole_lines()
    {
        const int Count = 2000;
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path))
        using (RpcMock mock = Mock(recorder))
        {
            using RpcClient client = Store.Connect(mock.Endpoint);

            // Without threads that wait: the pool answers the calls.
            await Parallel.ForAsync(0, Count, async (i, _) =>
                await client.InvokeAsync("Find", Store.Query($"line\n{i}\r \u2028 \"'")));
        }

        Assert.Equal(
            Count, Lines(path).Select(line => line.GetProperty("request").ToString()).Distinct().Count());
    }

    private static DynamicMessage MaskedQuery(string[] mask)
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        object login = new { user = "u", password = "p", pin = 5 };
        Record(path, new { text = "x", login, others = new[] { login } }, new() { Mask = mask });
        return MessageFormats.Json.Read(
            Store.Schema.GetMessage("store.Query"),
            System.Text.Encoding.UTF8.GetBytes(Lines(path).Single().GetProperty("request").GetRawText()));
    }

    private static void Record(string path, object request, RpcCallRecorderOptions? options = null)
    {
        using RpcCallRecorder recorder = new(path, options);
        using RpcMock mock = Mock(recorder);
        using RpcClient client = Store.Connect(mock.Endpoint);
        client.Invoke("Find", request);
    }

    private static RpcMock Mock(RpcCallRecorder recorder) => RpcMock.Create(
        Store.Schema, ["store.Store"], new RpcServerOptions { Interceptors = [recorder] }).StartListening();

    private static Google.Protobuf.WellKnownTypes.Any AnyOf(string type, string password)
    {
        DynamicMessage login = new(Store.Schema.GetMessage("store.Login"))
        {
            ["user"] = "u",
            ["password"] = password,
        };
        return new()
        {
            TypeUrl = $"type.googleapis.com/{type}",
            Value = ByteString.CopyFrom(login.ToByteArray()),
        };
    }

    private static JsonElement[] Lines(string path) =>
        [.. File.ReadLines(path).Select(line => JsonDocument.Parse(line).RootElement)];
}
