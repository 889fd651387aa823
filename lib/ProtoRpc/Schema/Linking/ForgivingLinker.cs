using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Links the files of a server. Files with errors are repaired or left out, so that the services of
/// the other files can be used.</summary>
internal static class ForgivingLinker
{
    // Each omitted file requires linking all other files again.
    private const int MaxLeftOut = 32;

    /// <summary>Links files if nothing has to be repaired.</summary>
    /// <returns>Null if files have errors, or if the server did not send the file of a service.</returns>
    public static RpcSchema? LinkWhole(ServerFiles found)
    {
        if (Undescribed(found, found.Files, NoReasons).Count > 0)
        {
            return null;
        }

        try
        {
            return Create(found, DescriptorLinker.Link(found.Files), found.Warnings);
        }
        catch (RpcException)
        {
            return null;
        }
    }

    /// <summary>Links what can be linked.</summary>
    /// <param name="found">The files.</param>
    /// <param name="cancellation">Gives up between two attempts.</param>
    /// <exception cref="RpcException">InvalidArgument: too many files have errors.</exception>
    public static RpcSchema Link(ServerFiles found, CancellationToken cancellation)
    {
        Dictionary<string, string> leftOut = new(StringComparer.Ordinal);
        while (true)
        {
            cancellation.ThrowIfCancellationRequested();
            string? blamed = null;
            try
            {
                return LinkRepaired(found, leftOut, name => blamed = name);
            }
            catch (RpcException e) when (blamed is { Length: > 0 } && leftOut.Count < MaxLeftOut
                && leftOut.TryAdd(blamed, e.Message))
            {
            }
        }
    }

    private static IReadOnlyDictionary<string, string> NoReasons { get; } =
        new Dictionary<string, string>(StringComparer.Ordinal);

    private static RpcSchema LinkRepaired(
        ServerFiles found, IReadOnlyDictionary<string, string> leftOut, Action<string?> blame)
    {
        DescriptorFile[] files = [.. found.Files.Where(file => !leftOut.ContainsKey(file.Name))];
        RepairedFiles repaired = FileRepair.Repair(files, Undescribed(found, files, leftOut), blame);
        IReadOnlyList<SchemaFile> linked = DescriptorLinker.Link(
            repaired.Files,
            file => blame(file is null ? null : repaired.Blamed.GetValueOrDefault(file.Name, "")));
        foreach (SchemaFile file in linked)
        {
            blame(repaired.Blamed.GetValueOrDefault(file.Name, ""));
            foreach (ServiceDescriptorProto service in file.Proto.Service)
            {
                InterfaceIds.Compute(service, service.Name, file.Name);
            }
        }

        blame(null);
        SchemaGaps gaps = new(found, repaired.Types, repaired.Services);
        return Create(
            found, linked,
            [
                .. found.Warnings,
                .. leftOut.Select(file =>
                    $"'{file.Key}' of {found.Server} is left out of the schema, because it has errors: "
                    + file.Value),
                .. repaired.Warnings,
            ],
            gaps);
    }

    // The services that no file declares.
    private static Dictionary<string, string> Undescribed(
        ServerFiles found, IReadOnlyList<DescriptorFile> files, IReadOnlyDictionary<string, string> leftOut)
    {
        HashSet<string> declared = [.. files.SelectMany(file => file.ServiceNames)];
        Dictionary<string, string> undescribed = new(StringComparer.Ordinal);
        foreach ((string service, string reason) in found.Services)
        {
            if (declared.Contains(service))
            {
                continue;
            }

            DescriptorFile? broken = leftOut.Count == 0 ? null : found.Files.FirstOrDefault(
                file => leftOut.ContainsKey(file.Name) && file.ServiceNames.Contains(service));
            undescribed.Add(
                service,
                broken is not null
                    ? $"'{broken.Name}' has errors: {leftOut[broken.Name].ReplaceLineEndings(" ")}"
                : reason.Length > 0 ? reason
                : "The files that the server returns for it do not declare it.");
        }

        return undescribed;
    }

    private static RpcSchema Create(
        ServerFiles found, IReadOnlyList<SchemaFile> linked, IReadOnlyList<string> warnings,
        SchemaGaps? gaps = null)
    {
        string[] roots =
        [
            .. found.RootFiles,
            .. linked.Where(file => file.Descriptor.Services.Any(
                service => found.Services.ContainsKey(service.FullName)))
                .Select(file => file.Name).Except(found.RootFiles),
        ];
        string[] shown = [.. warnings.Select(TerminalText.Neutralize)];
        return new RpcSchema(
            linked, roots, shown,
            found.RootFiles.Count > 0 ? null : found.Services.Keys.ToHashSet(StringComparer.Ordinal))
        {
            Gaps = gaps,
            LeftOut = shown,
            Losses = shown,
        };
    }
}
