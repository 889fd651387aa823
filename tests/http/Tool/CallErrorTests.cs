using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>How <c>protorpc call</c> tells of failures that a server makes as it likes.</summary>
public sealed class CallErrorTests : IDisposable
{
    private readonly Answers _answers = new();
    private readonly WordsServer _server;

    public CallErrorTests() => _server = new WordsServer(options: new() { Interceptors = [_answers] });

    public void Dispose() => _server.Dispose();

    [Fact]
    public async Task A_failure_is_JSON_if_asked()
    {
        _answers.Error = Failure(WordsServer.Text("a detail"));

        ClientRun run = await CallAsync("--format-error");

        Assert.Equal(64 + (int)RpcStatusCode.FailedPrecondition, run.Code);
        using JsonDocument status = JsonDocument.Parse(run.Error);
        Assert.Equal(9, status.RootElement.GetProperty("code").GetInt32());
        Assert.Equal("no \\u001B[31mway", status.RootElement.GetProperty("message").GetString());
        JsonElement detail = status.RootElement.GetProperty("details")[0];
        Assert.Equal("type.googleapis.com/streams.Text", detail.GetProperty("@type").GetString());
        Assert.Equal("a detail", detail.GetProperty("text").GetString());
        Assert.DoesNotContain('\u001B', run.Error);
    }

    [Fact]
    public async Task Details_of_unknown_types_and_hostile_ones_are_shown_as_they_came()
    {
        Any unknown = new() { TypeUrl = "x/no.\u001BSuch", Value = ByteString.CopyFromUtf8("ab") };
        _answers.Error = Failure(unknown, WordsServer.Text("\u001B]0;x\u0007\n\u202E"));

        ClientRun text = await CallAsync();
        ClientRun json = await CallAsync("--format-error");

        Assert.Contains("\"value\":\"YWI=\"", text.Error, StringComparison.Ordinal);
        Assert.Equal(3, text.Error.TrimEnd('\n').Split('\n').Length);
        foreach (string error in new[] { text.Error, json.Error })
        {
            Assert.DoesNotContain(error, c => c is '\u001B' or '\u0007' or '\u202E');
        }
    }

    [Fact]
    public async Task Many_details_are_cut()
    {
        _answers.Error = Failure([.. Enumerable.Range(0, 30).Select(i => WordsServer.Text($"{i}"))]);

        ClientRun run = await CallAsync();

        Assert.EndsWith("  and 10 more details\n", run.Error, StringComparison.Ordinal);
        Assert.Equal(22, run.Error.TrimEnd('\n').Split('\n').Length);
    }

    private static RpcException Failure(params IMessage[] details) =>
        new(RpcStatusCode.FailedPrecondition, "no \u001B[31mway", null) { Details = details };

    private Task<ClientRun> CallAsync(params string[] options) =>
        ClientRun.RunAsync(["call", $"{_server.Endpoint}", "Words/Say", "--set", "text=x", .. options]);

    private sealed class Answers : IRpcInterceptor
    {
        public RpcException? Error { get; set; }

        public ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next) => throw Error!;

        public ValueTask InvokeStreamAsync(
            RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
            next(context, stream);
    }
}
