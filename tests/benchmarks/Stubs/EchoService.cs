using Grpc.Core;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Stubs;

/// <summary>Sends the records of each request back.</summary>
internal sealed class EchoService : SampleService.SampleServiceBase
{
    public override Task<SampleResponse> Test(SampleRequest request, ServerCallContext context)
    {
        SampleResponse reply = new();
        reply.Data.AddRange(request.Data);
        return Task.FromResult(reply);
    }
}
