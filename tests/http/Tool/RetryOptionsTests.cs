using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>The options of <c>protorpc call</c> for retries.</summary>
public sealed class RetryOptionsTests : IDisposable
{
    private readonly Failures _failures = new();
    private readonly WordsServer _server;

    public RetryOptionsTests() => _server = new WordsServer(options: new() { Interceptors = [_failures] });

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData("--retry", "3", "--retry-status", "Unavailable")]
    [InlineData("--retry", "3", "--retry-status", "aborted,UNAVAILABLE", "--retry-pause", "0.001")]
    [InlineData("--retry", "3", "--retry-status", "Aborted", "--retry-status", "Unavailable")]
    [InlineData("--retry", "3", "--idempotent")]
    public async Task A_call_is_repeated(params string[] options)
    {
        _failures.Count = 2;

        ClientRun run = await CallAsync([.. options, "--verbose"]);

        Assert.Equal((0, 3), (run.Code, _failures.Calls));
        Assert.Contains("attempt 2 failed with status Unavailable", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_a_status_a_call_that_ran_is_not_repeated()
    {
        _failures.Count = 1;

        ClientRun run = await CallAsync("--retry", "3");

        Assert.Equal((64 + (int)RpcStatusCode.Unavailable, 1), (run.Code, _failures.Calls));
    }

    [Fact]
    public async Task The_error_says_how_many_attempts_there_were()
    {
        _failures.Count = 9;

        ClientRun run = await CallAsync("--retry", "2", "--idempotent");

        Assert.Equal("protorpc: Unavailable: not now (3 attempts)\n", run.Error);
    }

    [Theory]
    [InlineData("--retry COUNT is missing", "--idempotent")]
    [InlineData("--retry COUNT is missing", "--retry-status", "Unavailable")]
    [InlineData(
        "--retry-status must be one of Cancelled, ", "--retry", "1", "--retry-status", "Unavailable,OK")]
    [InlineData("--retry-status must be one of Cancelled, ", "--retry", "1", "--retry-status", "14")]
    [InlineData("--retry is 101; it must be from 0 to 100.", "--retry", "101")]
    [InlineData("--retry-pause is", "--retry", "1", "--retry-pause", "1e9")]
    public async Task Wrong_values_are_errors_that_name_the_option(string error, params string[] options)
    {
        ClientRun run = await CallAsync(options);

        Assert.Equal(2, run.Code);
        Assert.Contains(error, run.Error, StringComparison.Ordinal);
        Assert.Equal(0, _failures.Calls);
    }

    private Task<ClientRun> CallAsync(params string[] options) => ClientRun.RunAsync(
        ["call", $"{_server.Endpoint}", "Words/Say", "--set", "text=x", .. options]);

    private sealed class Failures : IRpcInterceptor
    {
        private int _calls;

        public int Count { get; set; }

        public int Calls => Volatile.Read(ref _calls);

        public ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            if (Interlocked.Increment(ref _calls) > Count)
            {
                return next(context, request);
            }

            context.ReplyTrailers.Add("grpc-retry-pushback-ms", "1");
            throw new RpcException(RpcStatusCode.Unavailable, "not now");
        }

        public ValueTask InvokeStreamAsync(
            RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
            next(context, stream);
    }
}
