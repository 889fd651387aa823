using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads a server's schema from its reflection service: version 1, or v1alpha if version 1 is not
/// served.</summary>
internal sealed class GrpcReflection(GrpcChannel channel)
{
    // Limits for the answers, because a server may be hostile or broken.
    private const int MaxServices = 10_000;
    private const int MaxFiles = 10_000;
    private const long MaxBytes = 64 * 1024 * 1024;

    private const string OwnPackage = "grpc.reflection.";
    private static readonly string[] Versions = ["v1", "v1alpha"];

    private readonly Dictionary<string, DescriptorFile> _files = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string> _fileOf = new(StringComparer.Ordinal);
    private readonly Queue<DescriptorFile> _unread = new();
    private readonly HashSet<string> _asked = new(StringComparer.Ordinal);
    private readonly List<string> _warnings = [];
    private long _bytes;

    /// <summary>The schema of all services, except reflection itself.</summary>
    public Task<RpcSchema> ReadAsync(CancellationToken cancellation) =>
        AskAsync(ReadAsync, CallClock.Start(channel.Options.Limits.CallTimeout, cancellation));

    /// <summary>The full names of the services, except reflection itself.</summary>
    /// <exception cref="RpcException">Unimplemented: the server has no reflection service.</exception>
    public Task<IReadOnlyList<string>> ListAsync(CallClock clock) =>
        AskAsync<IReadOnlyList<string>>(
            async call =>
            {
                IReadOnlyList<string> services = await ListServicesAsync(call).ConfigureAwait(false);
                await call.CompleteAsync().ConfigureAwait(false);
                return services;
            },
            clock);

    private async Task<TResult> AskAsync<TResult>(
        Func<GrpcCall, Task<TResult>> ask, CallClock clock)
    {
        RpcException? refusal = null;
        foreach (string version in Versions)
        {
            try
            {
                await using GrpcCall call = new(
                    channel, $"{OwnPackage}{version}.ServerReflection/ServerReflectionInfo",
                    clock, null, only: null, streamsRequests: true);
                return await ask(call).ConfigureAwait(false);
            }
            catch (RpcException e)
                when (e.Code == RpcStatusCode.Unimplemented && e.ErrorId != RpcErrorIds.NotGrpc)
            {
                refusal = e;
            }
        }

        throw new RpcException(
            RpcStatusCode.Unimplemented, RpcErrorIds.NoReflection,
            $"'{channel.Endpoint}' has no reflection service. "
            + "Give a schema: its .proto files or a descriptor set.", channel.Endpoint, refusal);
    }

    private async Task<RpcSchema> ReadAsync(GrpcCall call)
    {
        _files.Clear();
        _fileOf.Clear();
        _unread.Clear();
        _asked.Clear();
        HashSet<string> roots = new(StringComparer.Ordinal);
        IReadOnlyList<string> services = await ListServicesAsync(call).ConfigureAwait(false);
        foreach (string service in services)
        {
            if (await FindServiceAsync(call, service).ConfigureAwait(false) is { } file)
            {
                roots.Add(file);
            }
        }

        await ReadImportsAsync(call).ConfigureAwait(false);
        await call.CompleteAsync().ConfigureAwait(false);
        return new RpcSchema(
            MissingImports.Link([.. _files.Values]), [.. roots], _warnings,
            services.ToHashSet(StringComparer.Ordinal));
    }

    private async Task<IReadOnlyList<string>> ListServicesAsync(GrpcCall call)
    {
        ServerReflectionResponse reply = await AskAsync(
            call, new ServerReflectionRequest { ListServices = "*" })
            .ConfigureAwait(false);
        if (reply.MessageResponseCase
            != ServerReflectionResponse.MessageResponseOneofCase.ListServicesResponse)
        {
            throw Nonsense("its reply is not a list of services", reply);
        }

        return reply.ListServicesResponse.Service.Count <= MaxServices
            ? [.. reply.ListServicesResponse.Service.Select(s => s.Name)
                .Where(name => !name.StartsWith(OwnPackage, StringComparison.Ordinal))
                .Distinct(StringComparer.Ordinal)]
            : throw Nonsense($"it lists more than {MaxServices:N0} services", null);
    }

    // Finds the file that declares a service. Null, with a warning, if the server does not return it.
    private async Task<string?> FindServiceAsync(GrpcCall call, string service)
    {
        if (_fileOf.GetValueOrDefault(service) is { } known)
        {
            return known;
        }

        ServerReflectionResponse reply = await AskAsync(
            call, new ServerReflectionRequest { FileContainingSymbol = service }).ConfigureAwait(false);
        if (reply.ErrorResponse is { } error)
        {
            _warnings.Add(
                $"{channel.Endpoint} lists {service}, but does not return its file: {error.ErrorMessage}");
            return null;
        }

        AddFiles(reply);
        return _fileOf.GetValueOrDefault(service) ?? throw Nonsense(
            $"the files that it sends for {service} do not declare it", reply);
    }

    private async Task ReadImportsAsync(GrpcCall call)
    {
        // Each file is checked only once: a hostile server that withholds files would otherwise cause all
        // files to be checked again for each of them.
        while (_unread.TryDequeue(out DescriptorFile? file))
        {
            foreach (string import in file.Proto.Dependency)
            {
                await ReadImportAsync(call, import, isRequired: true).ConfigureAwait(false);
            }

            // Linking does not need these, and a server's generated code may not have them.
            foreach (string import in file.Proto.OptionDependency)
            {
                await ReadImportAsync(call, import, isRequired: false).ConfigureAwait(false);
            }
        }
    }

    private async Task ReadImportAsync(GrpcCall call, string missing, bool isRequired)
    {
        if (!_files.ContainsKey(missing) && _asked.Add(missing))
        {
            if (_asked.Count > MaxFiles)
            {
                throw Nonsense($"its files import more than {MaxFiles:N0} files", null);
            }

            ServerReflectionResponse reply = await AskAsync(
                call, new ServerReflectionRequest { FileByFilename = missing }).ConfigureAwait(false);
            if (reply.ErrorResponse is null)
            {
                AddFiles(reply);
            }

            // The linker adds the imports of rpc_messages.proto.
            if (isRequired && !_files.ContainsKey(missing) && !AddWellKnown(missing)
                && !RpcMessageFiles.Names.Contains(missing))
            {
                throw Nonsense($"it does not return '{missing}', which its files import", reply);
            }
        }
    }

    private async Task<ServerReflectionResponse> AskAsync(GrpcCall call, ServerReflectionRequest request)
    {
        await call.SendAsync(request, compress: true).ConfigureAwait(false);
        if (!await call.ReadAsync().ConfigureAwait(false))
        {
            throw Nonsense("it ended the stream before it replied", null);
        }

        try
        {
            return ServerReflectionResponse.Parser.ParseFrom(call.Current.Bytes);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw Nonsense($"its reply cannot be read ({e.Message})", null, e);
        }
    }

    private void AddFiles(ServerReflectionResponse reply)
    {
        if (reply.MessageResponseCase
            != ServerReflectionResponse.MessageResponseOneofCase.FileDescriptorResponse)
        {
            throw Nonsense("its reply does not contain the requested file", reply);
        }

        foreach (ByteString bytes in reply.FileDescriptorResponse.FileDescriptorProto)
        {
            _bytes += bytes.Length;
            if (_bytes > MaxBytes || _files.Count >= MaxFiles)
            {
                throw Nonsense(
                    $"it sends more than {MaxFiles:N0} files or {MaxBytes:N0} bytes of schema", null);
            }

            Add(DescriptorFile.Parse(bytes, $"the reflection of {channel.Endpoint}"));
        }
    }

    private bool AddWellKnown(string name) => WellKnownFiles.Find(name) is { } file && Add(file);

    private bool Add(DescriptorFile file)
    {
        if (!_files.TryAdd(file.Name, file))
        {
            return false;
        }

        _unread.Enqueue(file);
        string package = file.Proto.Package;
        foreach (ServiceDescriptorProto service in file.Proto.Service)
        {
            _fileOf.TryAdd(package.Length == 0 ? service.Name : $"{package}.{service.Name}", file.Name);
        }

        return true;
    }

    private RpcException Nonsense(string what, ServerReflectionResponse? reply, Exception? inner = null)
    {
        string said = reply?.ErrorResponse is { } error ? $" (its error: {error.ErrorMessage})" : "";
        return new RpcException(
            RpcStatusCode.Internal, RpcErrorIds.BadReflection,
            $"The reflection service of '{channel.Endpoint}' cannot be used: {what}{said}. "
            + "Give a schema: its .proto files or a descriptor set.", channel.Endpoint, inner);
    }
}
