using System.Diagnostics;
using System.Net.Http.Headers;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

// Requests about the server itself: pings, the services it serves, and its schema.
internal sealed partial class HttpChannel
{
    /// <summary>Loads the schema from the file that the endpoint's address names.</summary>
    public RpcSchema FetchSchema(CancellationToken cancellation) => IsFile
        ? RpcHttpSchema.Fetch(
            new Uri(_address.AbsoluteUri.TrimEnd('/') + _query), _options, cancellation)
        : throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"'{_endpoint}' does not publish its schema. "
            + "Give a schema; a ProtoRpc listener serves it at /FILE.proto.");

    /// <summary>Loads the schema from the file of the first service that the server has under the name that
    /// the client uses.</summary>
    public RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
    {
        string root = IsFile ? "../" : "";
        foreach (string file in services.Select(service => service.File.Name).Distinct())
        {
            try
            {
                return RpcHttpSchema.Fetch(Below(root + file), _options, cancellation);
            }
            catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
            {
            }
        }

        return null;
    }

    public void Connect(CancellationToken cancellation) =>
        BlockingWait.End(ConnectAsync<BlockingHttp>(cancellation));

    public Task ConnectAsync(CancellationToken cancellation) =>
        ConnectAsync<AsyncHttp>(cancellation).AsTask();

    /// <summary>Checks whether an HTTP server answers, with any status. ProtoRpc servers also return their
    /// product, version and services.</summary>
    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation) =>
        BlockingWait.End(PingAsync<BlockingHttp>(ping, cancellation));

    /// <inheritdoc cref="Ping"/>
    public Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation) =>
        PingAsync<AsyncHttp>(ping, cancellation).AsTask();

    private async ValueTask<bool> ConnectAsync<THttp>(CancellationToken cancellation)
        where THttp : struct, IHttpWait
    {
        using CallTime time = new(CallClock.Start(_limits.ConnectTimeout, cancellation), Closed);
        await ReachAsync<THttp>(time).ConfigureAwait(false);
        return true;
    }

    private async ValueTask<RpcPingResult> PingAsync<THttp>(PingSpec ping, CancellationToken cancellation)
        where THttp : struct, IHttpWait
    {
        long start = Stopwatch.GetTimestamp();
        CallClock clock = CallClock.Start(ping.Timeout, cancellation);
        using CallTime time = new(clock, Closed);
        string product = await ReachAsync<THttp>(time).ConfigureAwait(false);
        TimeSpan latency = Stopwatch.GetElapsedTime(start);
        RpcPingResponse? reply = await AskAsync<THttp>(ping, clock, cancellation).ConfigureAwait(false);
        RpcPingResult result = PingResults.ResultOf(_endpoint, latency, reply).Require(ping.Service);
        return reply is null ? result with { Product = product } : result;
    }

    // Returns the product in the header Server.
    private async ValueTask<string> ReachAsync<THttp>(CallTime time)
        where THttp : struct, IHttpWait
    {
        using HttpRequestMessage message = new(HttpMethod.Options, Below(""));
        AddHeaders(message, _options.Headers);
        try
        {
            using HttpResponseMessage response = await THttp.SendAsync(_http, message, time.Token)
                .ConfigureAwait(false);
            return PingResults.Plain(response.Headers.Server.ToString());
        }
        catch (Exception e) when (CallTime.IsOfClient(e))
        {
            throw time.Explain(_endpoint, e);
        }
    }

    // Null from servers other than ProtoRpc's. A proxy without a server behind it is an error. So is a server
    // that does not answer in time, if a service is required.
    private async ValueTask<RpcPingResponse?> AskAsync<THttp>(
        PingSpec ping, CallClock clock, CancellationToken cancellation)
        where THttp : struct, IHttpWait
    {
        CallSpec call = new(PingProtocol.Info, clock);
        using ByteArrayContent content = new(ping.Message.ToByteArray());
        content.Headers.ContentType = MediaTypeHeaderValue.Parse(MessageFormats.Binary.MediaType);
        using HttpRequestMessage message = new(
            HttpMethod.Post, Below($"{(IsFile ? "../" : "")}{PingProtocol.Info.FullName}"))
        {
            Content = content,
        };
        AddHeaders(message, _options.Headers);
        message.Headers.Accept.Clear();
        message.Headers.Accept.ParseAdd(MessageFormats.Binary.MediaType);
        try
        {
            return await RunAsync<THttp, RpcPingResponse>(call, message, PingResults.Read, cancellation)
                .ConfigureAwait(false);
        }
        catch (RpcException e) when (!cancellation.IsCancellationRequested
            && !ping.IsAsking
            && e.Code is not (RpcStatusCode.Unauthenticated or RpcStatusCode.Unavailable)
            && !(ping.Service is not null && e.Code == RpcStatusCode.DeadlineExceeded))
        {
            return null;
        }
    }
}
