namespace ProtoRpc.Grpc.Client;

/// <summary>A call of a generated client: its cancellation, status and trailers.</summary>
internal abstract class StubCall
{
    private readonly CancellationTokenSource? _end;
    private Outcome? _outcome;

    /// <param name="caller">Cancels the call.</param>
    /// <param name="isBlocking">Whether only the caller's token cancels the call, because the program gets no
    /// object to dispose.</param>
    protected StubCall(CancellationToken caller, bool isBlocking = false)
    {
        _end = isBlocking ? null
            : caller.CanBeCanceled ? CancellationTokenSource.CreateLinkedTokenSource(caller)
            : new CancellationTokenSource();
        Token = _end?.Token ?? caller;
    }

    /// <summary>The metadata of the reply.</summary>
    protected RpcReplyInfo Info { get; } = new();

    /// <summary>Cancels the call.</summary>
    protected CancellationToken Token { get; }

    /// <summary>Whether the call has ended.</summary>
    protected bool HasEnded => Volatile.Read(ref _outcome) is not null;

    /// <summary>The failure of a call that has ended; null for success.</summary>
    protected GrpcException? Failure => Volatile.Read(ref _outcome)?.Failure;

    /// <summary>The status.</summary>
    /// <exception cref="InvalidOperationException">The call has not ended.</exception>
    public Status GetStatus() => Ended("status").Failure?.Status ?? Status.DefaultSuccess;

    /// <summary>The trailers.</summary>
    /// <exception cref="InvalidOperationException">The call has not ended.</exception>
    public Metadata GetTrailers() =>
        Ended("trailers").Failure?.Trailers ?? StubMetadata.ToGrpc(Info.Trailers);

    /// <summary>Cancels the call, unless it has ended.</summary>
    public virtual void Dispose() => Cancel();

    /// <inheritdoc cref="Dispose"/>
    protected void Cancel()
    {
        if (HasEnded)
        {
            return;
        }

        try
        {
            _end?.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The call ended before the cancellation.
        }
    }

    /// <summary>Ends the call.</summary>
    /// <param name="error">The failure, or null.</param>
    /// <returns>The exception of the generated client; null for success.</returns>
    protected GrpcException? End(Exception? error)
    {
        GrpcException? failure = error switch
        {
            null => null,
            GrpcException already => already,
            _ => StubErrors.ToGrpc(error, Info),
        };
        Outcome? first = Interlocked.CompareExchange(ref _outcome, new Outcome(failure), null);
        if (first is not null)
        {
            return first.Failure;
        }

        _end?.Dispose();
        return failure;
    }

    /// <summary>Ends the call with an exception that is not a status, such as that of call
    /// credentials.</summary>
    protected GrpcException EndUnexpectedly(Exception error) =>
        End(new GrpcException(new Status(StatusCode.Internal, error.Message, error)))!;

    /// <summary>Whether an exception is a failure of the call, and not a mistake of the program.</summary>
    protected static bool IsFailure(Exception error) =>
        error is RpcException or OperationCanceledException or GrpcException;

    private Outcome Ended(string what) => Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException($"The call has not ended, so it has no {what} yet.");

    private sealed record Outcome(GrpcException? Failure);
}
