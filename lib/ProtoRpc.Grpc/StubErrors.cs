using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Grpc;

/// <summary>Converts failures between <see cref="RpcException"/> and <see cref="GrpcException"/>.</summary>
internal static class StubErrors
{
    /// <summary>The exception of a generated client for a failed call.</summary>
    /// <param name="error">The failure, or an <see cref="OperationCanceledException"/> if the call did not
    /// start.</param>
    /// <param name="info">The metadata of the reply.</param>
    public static GrpcException ToGrpc(Exception error, RpcReplyInfo info)
    {
        if (error is not RpcException failure)
        {
            return new GrpcException(new Status(StatusCode.Cancelled, "The call was cancelled.", error));
        }

        Metadata trailers = StubMetadata.ToGrpc(info.Trailers);
        if (trailers.GetValueBytes(StubMetadata.StatusDetails) is null
            && GrpcStatusDetails.ToBytes(failure.Code, failure.Message, failure.Details) is { } details)
        {
            trailers.Add(StubMetadata.StatusDetails, details);
        }

        return new GrpcException(new Status((StatusCode)failure.Code, failure.Message, failure), trailers);
    }

    /// <summary>The failure of a call whose service threw an exception of Grpc.Core.Api. Adds its trailers to
    /// the reply.</summary>
    public static RpcException FromService(GrpcException error, RpcServerCallContext context)
    {
        // The service called another server. RpcServer decides what of that failure its caller may see.
        if (error.Status.DebugException is RpcException forwarded)
        {
            return forwarded;
        }

        byte[]? details = error.Trailers.GetValueBytes(StubMetadata.StatusDetails);
        foreach (Metadata.Entry entry in error.Trailers)
        {
            if (entry.Key != StubMetadata.StatusDetails)
            {
                StubMetadata.Add(context.ReplyTrailers, entry);
            }
        }

        return new RpcException((RpcStatusCode)error.StatusCode, error.Status.Detail, error)
        {
            Details = details is null ? [] : GrpcStatusDetails.Read(details),
        };
    }
}
