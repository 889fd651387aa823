namespace ProtoRpc.Grpc.Client;

/// <summary>A streaming call of a generated client.</summary>
internal sealed class StubStreamingCall<TRequest, TReply> :
    StubCall, IClientStreamWriter<TRequest>, IAsyncStreamReader<TReply>
    where TRequest : class
    where TReply : class
{
    private readonly TaskCompletionSource<Metadata> _headers =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly Task<Opened> _opened;
    private readonly Lock _gate = new();
    private Task<TReply>? _only;
    private Task<TReply?>? _ahead;
    private TReply? _current;
    private bool _isReading;
    private int _isWriting;

    public StubStreamingCall(
        RpcClient client, StubMethods methods, Method<TRequest, TReply> method, CallOptions options)
        : base(options.CancellationToken)
    {
        WriteOptions = options.WriteOptions;
        Info.Began = SetHeaders;
        _opened = Observed(OpenAsync(client, methods, method, options));
    }

    /// <inheritdoc/>
    public WriteOptions? WriteOptions { get; set; }

    /// <inheritdoc/>
    public TReply Current =>
        _current ?? throw new InvalidOperationException("No reply has been read yet. Call MoveNext.");

    /// <summary>Begins a call with one request.</summary>
    public AsyncServerStreamingCall<TReply> StartServerStream(TRequest request)
    {
        _ = Observed(SendOnlyAsync(request));
        return new AsyncServerStreamingCall<TReply>(
            this, GetHeadersAsync, GetStatusOf, GetTrailersOf, DisposeOf, this);
    }

    /// <summary>Begins a call with one reply.</summary>
    public AsyncClientStreamingCall<TRequest, TReply> StartClientStream()
    {
        _only = Observed(ReadOnlyAsync());
        return new AsyncClientStreamingCall<TRequest, TReply>(
            this, _only, GetHeadersAsync, GetStatusOf, GetTrailersOf, DisposeOf, this);
    }

    /// <summary>Begins a call with streams both ways.</summary>
    public AsyncDuplexStreamingCall<TRequest, TReply> StartDuplexStream() => new(
        this, this, GetHeadersAsync, GetStatusOf, GetTrailersOf, DisposeOf, this);

    /// <inheritdoc/>
    public Task WriteAsync(TRequest message) => WriteAsync(message, CancellationToken.None);

    /// <inheritdoc/>
    public async Task WriteAsync(TRequest message, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(message);
        if (Interlocked.CompareExchange(ref _isWriting, 1, 0) != 0)
        {
            throw new InvalidOperationException(
                "A call writes one message at a time. Await the previous WriteAsync before the next.");
        }

        try
        {
            RpcStreamingCall<IMessage, IMessage> call = (await _opened.ConfigureAwait(false)).Call;
            if (HasEnded)
            {
                throw Complete();
            }

            bool compress = !StubCallOptions.IsUncompressed(WriteOptions);
            if (!await call.SendAsync((IMessage)message, compress, cancellationToken).ConfigureAwait(false))
            {
                throw await GetEndAsync().ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException)
        {
            throw Failure ?? StubErrors.ToGrpc(e, Info);
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }

    /// <inheritdoc/>
    public async Task CompleteAsync()
    {
        RpcStreamingCall<IMessage, IMessage> call = (await _opened.ConfigureAwait(false)).Call;
        if (HasEnded)
        {
            return;
        }

        try
        {
            await call.CompleteAsync().ConfigureAwait(false);
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException)
        {
            throw Failure ?? StubErrors.ToGrpc(e, Info);
        }
    }

    /// <inheritdoc/>
    public async Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        if (HasEnded)
        {
            return Failure is null ? false : throw Failure;
        }

        Task<TReply?>? ahead = BeginReading();
        try
        {
            using CancellationTokenRegistration _ = cancellationToken.UnsafeRegister(
                static call => ((StubStreamingCall<TRequest, TReply>)call!).Cancel(), this);
            if (await (ahead ?? ReadAsync()).ConfigureAwait(false) is not { } reply)
            {
                return false;
            }

            _current = reply;
            return true;
        }
        finally
        {
            lock (_gate)
            {
                _isReading = false;
            }
        }
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        if (HasEnded)
        {
            return;
        }

        Cancel();
        bool isIdle;
        lock (_gate)
        {
            isIdle = !_isReading && _ahead is null or { IsCompleted: true };
        }

        // A running read ends by the cancellation, and then ends the call itself.
        if (isIdle)
        {
            _ = FinishAsync(new OperationCanceledException("The call was disposed of before its end."));
        }
    }

    private static Task<Metadata> GetHeadersAsync(object call) =>
        ((StubStreamingCall<TRequest, TReply>)call).GetHeadersAsync();

    private static Status GetStatusOf(object call) => ((StubCall)call).GetStatus();

    private static Metadata GetTrailersOf(object call) => ((StubCall)call).GetTrailers();

    private static void DisposeOf(object call) => ((StubCall)call).Dispose();

    // Otherwise the failure of a task that the program does not await would be an unobserved exception.
    private static TTask Observed<TTask>(TTask task)
        where TTask : Task
    {
        _ = task.ContinueWith(
            static failed => failed.Exception, CancellationToken.None,
            TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);
        return task;
    }

    // The headers arrive with the first read, so it starts before the program reads a reply.
    private Task<Metadata> GetHeadersAsync()
    {
        lock (_gate)
        {
            if (!_headers.Task.IsCompleted && !_isReading && _only is null && !HasEnded)
            {
                _ahead ??= Observed(ReadAsync());
            }
        }

        return _headers.Task;
    }

    private Task<TReply?>? BeginReading()
    {
        lock (_gate)
        {
            if (_isReading)
            {
                throw new InvalidOperationException(
                    "A call reads one reply at a time. Await the previous MoveNext before the next.");
            }

            _isReading = true;
            Task<TReply?>? ahead = _ahead;
            _ahead = null;
            return ahead;
        }
    }

    private async Task<TReply?> ReadAsync()
    {
        try
        {
            Opened opened = await _opened.ConfigureAwait(false);
            if (await opened.Call.ReadAsync(CancellationToken.None).ConfigureAwait(false))
            {
                SetHeaders();
                return opened.Method.Cast<TReply>(opened.Call.Current);
            }

            await FinishAsync(null).ConfigureAwait(false);
            return null;
        }
        catch (Exception e) when (IsFailure(e))
        {
            throw (await FinishAsync(e).ConfigureAwait(false))!;
        }
    }

    private async Task<Opened> OpenAsync(
        RpcClient client, StubMethods methods, Method<TRequest, TReply> method, CallOptions options)
    {
        try
        {
            StubMethod known = methods.Find(method);
            RpcCallOptions made = await StubCallOptions.CreateAsync(client, method, options, Info)
                .ConfigureAwait(false);
            return new Opened(
                known,
                await client.OpenStubAsync(known.Info, known.Read, made, Token).ConfigureAwait(false));
        }
        catch (Exception e) when (IsFailure(e))
        {
            GrpcException failure = End(e)!;
            FailHeaders(failure);
            throw failure;
        }
        catch (Exception e)
        {
            FailHeaders(EndUnexpectedly(e));
            throw;
        }
    }

    private async Task SendOnlyAsync(TRequest request)
    {
        RpcStreamingCall<IMessage, IMessage> call = (await _opened.ConfigureAwait(false)).Call;
        try
        {
            if (await call.SendAsync((IMessage)request).ConfigureAwait(false))
            {
                await call.CompleteAsync().ConfigureAwait(false);
            }
        }
        catch (RpcException e) when (!Token.IsCancellationRequested)
        {
            // The request cannot be sent. Disposing the call ends a read that waits for its reply.
            await FinishAsync(e).ConfigureAwait(false);
        }
    }

    private async Task<TReply> ReadOnlyAsync()
    {
        if (!await MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            throw NotOne("no reply, but the status OK");
        }

        TReply only = Current;
        return await MoveNext(CancellationToken.None).ConfigureAwait(false)
            ? throw NotOne("more than one reply")
            : only;
    }

    private GrpcException NotOne(string what)
    {
        GrpcException failure = new(new Status(
            StatusCode.Internal, $"The server sent {what}. Check that client and server use the same "
            + "schema."));
        _ = FinishAsync(failure);
        return failure;
    }

    // The server ended the call before all requests were sent.
    private async Task<Exception> GetEndAsync()
    {
        if (_only is not null)
        {
            await _only.ConfigureAwait(false);
        }

        return HasEnded ? Complete() : new GrpcException(new Status(
            StatusCode.Unknown, "The server has ended the call. Read its replies for the status."));
    }

    private Exception Complete() => (Exception?)Failure
        ?? new InvalidOperationException("The message cannot be written, because the call has ended.");

    private async Task<GrpcException?> FinishAsync(Exception? error)
    {
        GrpcException? failure = End(error);
        if (failure is null || Info.Headers.Count > 0)
        {
            SetHeaders();
        }
        else
        {
            FailHeaders(failure);
        }

        if (_opened.IsCompletedSuccessfully)
        {
            await _opened.Result.Call.DisposeAsync().ConfigureAwait(false);
        }

        return failure;
    }

    private void SetHeaders()
    {
        if (!_headers.Task.IsCompleted)
        {
            _headers.TrySetResult(StubMetadata.ToGrpc(Info.Headers));
        }
    }

    private void FailHeaders(GrpcException failure)
    {
        _headers.TrySetException(failure);
        _ = _headers.Task.Exception;
    }

    private sealed record Opened(StubMethod Method, RpcStreamingCall<IMessage, IMessage> Call);
}
