using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads a server's schema from its reflection service.</summary>
/// <remarks>Files that a server does not send, or sends with errors, are omitted with a warning, so that its
/// other services can be used.</remarks>
internal sealed class GrpcReflection(GrpcChannel channel)
{
    // Limits for the replies, because a server may be hostile or broken.
    private const int MaxServices = 10_000;
    private const int MaxWithheldTypes = 200;

    private readonly ReflectedFiles _files = new(channel.Endpoint.ToString());
    private readonly HashSet<string> _asked = new(StringComparer.Ordinal);

    /// <summary>The schema of all services, except reflection itself.</summary>
    public async Task<RpcSchema> ReadAsync(CancellationToken cancellation)
    {
        ReflectionStream stream = Open(cancellation);
        await using (stream.ConfigureAwait(false))
        {
            Dictionary<string, string> services = new(StringComparer.Ordinal);
            foreach (string service in await ListServicesAsync(stream).ConfigureAwait(false))
            {
                services[service] = await FindServiceAsync(stream, service).ConfigureAwait(false);
            }

            return await LinkAsync(stream, services, cancellation).ConfigureAwait(false);
        }
    }

    /// <summary>The files that declare some symbols, with their imports.</summary>
    /// <returns>Null if the server does not declare one of them.</returns>
    public async Task<RpcSchema?> ReadAsync(SymbolQuery query, CancellationToken cancellation)
    {
        ReflectionStream stream = Open(cancellation);
        await using (stream.ConfigureAwait(false))
        {
            foreach (string symbol in query.Symbols)
            {
                if ((await FindServiceAsync(stream, symbol).ConfigureAwait(false)).Length > 0)
                {
                    await stream.CompleteAsync().ConfigureAwait(false);
                    return null;
                }
            }

            if (query.Extendee is { } extendee && _files.Add(
                await stream.AskAsync(new ServerReflectionRequest
                {
                    FileContainingExtension = new ExtensionRequest
                    {
                        ContainingType = extendee,
                        ExtensionNumber = query.Number,
                    },
                }).ConfigureAwait(false),
                extendee) is not null)
            {
                await stream.CompleteAsync().ConfigureAwait(false);
                return null;
            }

            Dictionary<string, string> services = query.Symbols.Where(_files.Declares)
                .ToDictionary(service => service, _ => "", StringComparer.Ordinal);
            return await LinkAsync(stream, services, cancellation).ConfigureAwait(false);
        }
    }

    /// <summary>The full names of the services, except reflection itself.</summary>
    /// <exception cref="RpcException">Unimplemented: the server has no reflection service.</exception>
    public async Task<IReadOnlyList<string>> ListAsync(CallClock clock)
    {
        ReflectionStream stream = new(channel, clock);
        await using (stream.ConfigureAwait(false))
        {
            IReadOnlyList<string> services = await ListServicesAsync(stream).ConfigureAwait(false);
            await stream.CompleteAsync().ConfigureAwait(false);
            return services;
        }
    }

    private ReflectionStream Open(CancellationToken cancellation) =>
        new(channel, CallClock.Start(channel.Options.Limits.CallTimeout, cancellation));

    // Reads the imports of the services, and links them.
    private async Task<RpcSchema> LinkAsync(
        ReflectionStream stream, Dictionary<string, string> services, CancellationToken cancellation)
    {
        await ReadImportsAsync(stream).ConfigureAwait(false);
        ServerFiles found = Found(services);
        if (ForgivingLinker.LinkWhole(found) is { } whole)
        {
            await stream.CompleteAsync().ConfigureAwait(false);
            return whole;
        }

        await ReadWithheldAsync(stream).ConfigureAwait(false);
        await stream.CompleteAsync().ConfigureAwait(false);
        return ForgivingLinker.Link(Found(services), cancellation);
    }

    private ServerFiles Found(IReadOnlyDictionary<string, string> services) =>
        new([.. _files.Files], services, channel.Endpoint.ToString()) { Warnings = _files.Warnings };

    private static async Task<IReadOnlyList<string>> ListServicesAsync(ReflectionStream stream)
    {
        ReflectionAnswer answer = await stream.AskAsync(new ServerReflectionRequest { ListServices = "*" })
            .ConfigureAwait(false);
        if (answer.Reply?.ListServicesResponse is not { } list)
        {
            throw stream.Nonsense("its reply is not a list of services", answer.Error);
        }

        return list.Service.Count <= MaxServices
            ? [.. list.Service.Select(s => s.Name)
                .Where(name => !name.StartsWith(ReflectionStream.OwnPackage, StringComparison.Ordinal))
                .Distinct(StringComparer.Ordinal)]
            : throw stream.Nonsense($"it lists more than {MaxServices:N0} services");
    }

    // Finds the file that declares a service. Returns why there is none; empty if there is one.
    private async Task<string> FindServiceAsync(ReflectionStream stream, string service)
    {
        if (_files.Declares(service))
        {
            return "";
        }

        ReflectionAnswer answer = await stream.AskAsync(
            new ServerReflectionRequest { FileContainingSymbol = service }).ConfigureAwait(false);
        return _files.Add(answer, service) ?? "";
    }

    private async Task ReadImportsAsync(ReflectionStream stream)
    {
        while (_files.NextUnread() is { } file)
        {
            // Linking does not need the files of options, and a server that has only generated code may not
            // have them.
            foreach (string import in file.Proto.Dependency.Concat(file.Proto.OptionDependency))
            {
                if (_files.Contains(import) || !_asked.Add(import))
                {
                    continue;
                }

                if (_asked.Count > ReflectedFiles.MaxFiles)
                {
                    throw stream.Nonsense($"its files import more than {ReflectedFiles.MaxFiles:N0} files");
                }

                // The server may return the file under another name. Linking adds the files of Protocol
                // Buffers, and reports missing types.
                _files.Add(
                    await stream.AskAsync(new ServerReflectionRequest { FileByFilename = import })
                        .ConfigureAwait(false),
                    import);
            }
        }
    }

    // Asks for types that no file declares, because servers may not find files by their names.
    private async Task ReadWithheldAsync(ReflectionStream stream)
    {
        int asked = 0;
        while (asked < MaxWithheldTypes)
        {
            int before = _files.Files.Count;
            foreach (string type in FindMissing().Where(_asked.Add).Take(MaxWithheldTypes - asked).ToArray())
            {
                asked++;
                _files.Add(
                    await stream.AskAsync(new ServerReflectionRequest { FileContainingSymbol = type })
                        .ConfigureAwait(false),
                    type);
            }

            if (_files.Files.Count == before)
            {
                return;
            }

            await ReadImportsAsync(stream).ConfigureAwait(false);
        }
    }

    private IReadOnlyList<string> FindMissing()
    {
        try
        {
            return FileRepair.FindMissing([.. _files.Files]);
        }
        catch (RpcException)
        {
            // Linking reports the error.
            return [];
        }
    }
}
