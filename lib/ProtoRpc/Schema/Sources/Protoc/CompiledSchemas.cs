using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Keeps what protoc compiled on disk, so that the next process needs no protoc.</summary>
/// <remarks>
/// A result is used only if protoc would read the same files again: each file is searched in the folders as
/// protoc does, and compared with the text that was compiled. Results with errors are not kept.
/// The texts are kept and compared, because hashing them takes longer when a process first does it.
/// </remarks>
/// <param name="folder">The folder of the results.</param>
/// <param name="time">The clock of the file system.</param>
internal sealed class CompiledSchemas(CacheFolder folder, TimeProvider time)
{
    /// <summary>The environment variable that switches it off, or names another folder.</summary>
    public const string Variable = "PROTORPC_SCHEMA_CACHE";

    private const string Folder = "schemas";

    // The system updates its time for files only at each tick, so times are this exact.
    private static readonly TimeSpan Granularity = TimeSpan.FromMilliseconds(50);

    /// <summary>The cache of this user; null if it is disabled, or the user has no folder for it.</summary>
    public static CompiledSchemas? OfUser =>
        Locate(Environment.GetEnvironmentVariable(Variable)) is { } path
            ? new(new CacheFolder(path), TimeProvider.System)
            : null;

    /// <summary>When a run of protoc begins.</summary>
    public DateTime Now => time.GetUtcNow().UtcDateTime;

    /// <summary>Finds the result of an earlier run.</summary>
    /// <param name="protoc">The program.</param>
    /// <param name="plan">The files to compile.</param>
    /// <returns>Null if there is no entry, or a file that protoc would read has changed.</returns>
    public CompiledEntry? Find(string protoc, ProtocPlan plan)
    {
        try
        {
            string key = KeyOf(protoc, plan);
            return folder.Read(NameOf(key)) is { } bytes
                && CompiledEntry.Read(bytes) is { } entry
                && entry.Key == key
                && entry.Sources.All(source => IsCurrent(source, plan))
                    ? entry
                    : null;
        }
        catch (Exception)
        {
            // A file changed or disappeared while it was compared. protoc runs then, and reports the error.
            return null;
        }
    }

    /// <summary>Keeps the result of a run that had no errors.</summary>
    /// <param name="protoc">The program.</param>
    /// <param name="plan">The files that were compiled.</param>
    /// <param name="begin">When the run began. A file that changed since may not be what protoc read.</param>
    /// <param name="set">The FileDescriptorSet.</param>
    /// <param name="part">The result.</param>
    /// <param name="missing">Imports that were not found and left out.</param>
    public void Add(
        string protoc, ProtocPlan plan, DateTime begin, byte[] set, SchemaPart part,
        IEnumerable<string> missing)
    {
        try
        {
            Keep(protoc, plan, begin, set, part, missing);
        }
        catch (Exception)
        {
            // The schema is already compiled. Without an entry, the next compilation only takes longer.
        }
    }

    private void Keep(
        string protoc, ProtocPlan plan, DateTime begin, byte[] set, SchemaPart part,
        IEnumerable<string> missing)
    {
        HashSet<string> absent = [.. missing];
        HashSet<string> names = [.. part.Files.Select(file => file.Name), .. absent];
        // If one of these files exists, the aliases in it determine the others, so all are part of the entry.
        HashSet<string> aliases = [.. RpcMessageFiles.Names];
        names.UnionWith(names.Overlaps(aliases) ? aliases : []);
        List<CompiledSource> sources = [];
        long bytes = set.Length;
        foreach (string name in names)
        {
            string path = FindFile(name, plan);
            bool isFound = path.Length > 0;
            if ((isFound == absent.Contains(name) && !aliases.Contains(name))
                || (isFound && !IsOlder(path, begin))
                || ReadFile(path, folder.MaxFileBytes) is not { } content
                || (bytes += content.Length) > folder.MaxFileBytes)
            {
                return;
            }

            sources.Add(new CompiledSource(name, path, UnsafeByteOperations.UnsafeWrap(content)));
        }

        string key = KeyOf(protoc, plan);
        CompiledEntry entry = new(
            key, UnsafeByteOperations.UnsafeWrap(set), part.Warnings, part.LeftOutOptions, sources);
        folder.Write(NameOf(key), entry.ToBytes());
    }

    /// <summary>The folder.</summary>
    /// <param name="given">The value of the variable: a full path, or <c>off</c>.</param>
    internal static string? Locate(string? given)
    {
        try
        {
            return string.IsNullOrEmpty(given) ? Path.Combine(UserCache.Find(), UserCache.Name, Folder)
                : Path.IsPathFullyQualified(given)
                    ? Path.TrimEndingDirectorySeparator(Path.GetFullPath(given))
                : null;
        }
        catch (Exception e) when (e is IOException or ArgumentException)
        {
            return null;
        }
    }

    // All inputs of protoc except the contents of files. Each list begins with its length, so different plans
    // have different keys.
    private static string KeyOf(string protoc, ProtocPlan plan)
    {
        FileInfo program = new(protoc);
        program = program.ResolveLinkTarget(returnFinalTarget: true) as FileInfo ?? program;
        IReadOnlyList<string> shipped = ProtocLocator.IncludeFolders;
        string[] parts =
        [
            VersionOf(typeof(CompiledSchemas).Module),
            program.FullName, Text(program.Exists ? program.Length : -1),
            Text(program.LastWriteTimeUtc.Ticks),
            Text(shipped.Count), .. shipped,
            Text(plan.Roots.Count), .. plan.Roots.SelectMany(root => new[] { root.Given, root.FullPath }),
            Text(plan.Inputs.Count),
            .. plan.Inputs.SelectMany(input => new[] { input.Name, input.File.Given, input.File.FullPath }),
        ];
        return string.Join('\0', parts);

        static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
    }

    // A NativeAOT program has no module version id.
    private static string VersionOf(System.Reflection.Module module) =>
        RuntimeFeature.IsDynamicCodeSupported ? module.ModuleVersionId.ToString() : "";

    // FNV-1a is sufficient: if two keys have the same hash, each only replaces the other's entry.
    private static string NameOf(string key)
    {
        ulong hash = 14695981039346656037;
        foreach (char letter in key)
        {
            hash = (hash ^ letter) * 1099511628211;
        }

        return hash.ToString("x16", CultureInfo.InvariantCulture);
    }

    // Searches like protoc: the first folder with the file.
    private static string FindFile(string name, ProtocPlan plan) =>
        plan.FindFile(name)
        ?? ProtocLocator.IncludeFolders.Select(folder => Path.Combine(folder, name))
            .FirstOrDefault(File.Exists)
        ?? "";

    private static bool IsCurrent(CompiledSource source, ProtocPlan plan) =>
        FindFile(source.Name, plan) == source.Path
        && ReadFile(source.Path, source.Content.Length) is { } content
        && source.Content.Span.SequenceEqual(content);

    // Returns null if the file is longer, and no bytes for a file that does not exist.
    private static byte[]? ReadFile(string path, int maxBytes)
    {
        if (path.Length == 0)
        {
            return [];
        }

        using SafeFileHandle file = File.OpenHandle(path);
        long length = RandomAccess.GetLength(file);
        byte[] content = new byte[Math.Min(length, maxBytes)];
        return length <= maxBytes && RandomAccess.Read(file, content, 0) == length ? content : null;
    }

    private static bool IsOlder(string path, DateTime begin)
    {
        string real = File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
        return ChangeOf(path) < begin - Granularity && ChangeOf(real) < begin - Granularity;
    }

    // On Unix, the time of a rename also counts, because a renamed file keeps its old modification time.
    private static DateTime ChangeOf(string path) =>
        OperatingSystem.IsWindows() ? File.GetLastWriteTimeUtc(path)
            : UnixFileStatus.Read(path)?.Changed ?? DateTime.MaxValue;
}
