using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Cryptography;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Finds protoc and the .proto files that come with ProtoRpc.</summary>
/// <remarks>
/// The package ProtoRpc.Compiler, the module and the tool bring beside the assembly
/// <c>protoc/&lt;platform&gt;/protoc</c> (linux-x64, linux-arm64, osx, win-x64),
/// <c>protoc/include</c> with the well-known imports, and <c>protos</c> with ProtoRpc's own.
/// </remarks>
internal static partial class ProtocLocator
{
    private const string Variable = "PROTOC";
    private const string Protos = "protos";

    // X_OK of access(2).
    private const int ExecuteAccess = 1;

    /// <summary>The folder of this assembly, or the one above it, where the packed module has the files that
    /// are for all platforms; the program's if the assembly is part of a single file.</summary>
    public static string AssemblyFolder { get; } = FindFolder();

    /// <summary>The folders in which imports are found without being asked for.</summary>
    public static IReadOnlyList<string> IncludeFolders =>
    [
        .. new[] { Path.Combine(AssemblyFolder, "protoc", "include"), Path.Combine(AssemblyFolder, Protos) }
            .Where(Directory.Exists),
    ];

    /// <summary>Whether one of these folders has a file.</summary>
    public static bool HasImport(string name) =>
        IncludeFolders.Any(folder => File.Exists(Path.Combine(folder, name)));

    /// <summary>Finds protoc: the program in <c>$PROTOC</c>, otherwise the shipped one, otherwise the one on
    /// the PATH.</summary>
    /// <exception cref="RpcException">FailedPrecondition: protoc was not found.</exception>
    public static string Find() => Find(
        Environment.GetEnvironmentVariable(Variable), AssemblyFolder,
        Environment.GetEnvironmentVariable("PATH"));

    /// <summary>The same for the given places.</summary>
    internal static string Find(string? variable, string assemblyFolder, string? searchPath)
    {
        if (!string.IsNullOrEmpty(variable))
        {
            return File.Exists(variable)
                ? Path.GetFullPath(variable)
                : throw Missing(
                    $"The environment variable {Variable} names '{variable}', which does not exist.");
        }

        string name = OperatingSystem.IsWindows() ? "protoc.exe" : "protoc";
        string shipped = Path.Combine(assemblyFolder, "protoc", PlatformFolder, name);
        if (File.Exists(shipped))
        {
            return OperatingSystem.IsWindows() ? shipped : Executable(shipped);
        }

        string? onPath = (searchPath ?? "").Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries)
            .Select(folder => Path.Combine(folder, name))
            .FirstOrDefault(File.Exists);
        return onPath ?? throw Missing(
            $"protoc, the compiler of .proto files, is neither at '{shipped}' nor on PATH. "
            + $"Reference the package ProtoRpc.Compiler, which brings it, install protobuf-compiler, or "
            + $"set {Variable} "
            + "to its path.");
    }

    internal static RpcException Missing(string message, Exception? cause = null) =>
        new(RpcStatusCode.FailedPrecondition, RpcErrorIds.ProtocNotFound, message, cause);

    [UnconditionalSuppressMessage(
        "SingleFile", "IL3000",
        Justification = "The location is empty in a single file, for which the program's folder is used.")]
    private static string FindFolder()
    {
        if (Path.GetDirectoryName(typeof(ProtocLocator).Assembly.Location) is not { Length: > 0 } folder)
        {
            return AppContext.BaseDirectory;
        }

        string? above = Path.GetDirectoryName(folder);
        return above is not null && !Directory.Exists(Path.Combine(folder, Protos))
            && Directory.Exists(Path.Combine(above, Protos))
            && File.Exists(Path.Combine(above, "ProtoRpc.dll"))
            ? above
            : folder;
    }

    private static string PlatformFolder =>
        OperatingSystem.IsWindows() ? "win-x64"
        : OperatingSystem.IsMacOS() ? "osx"
        : RuntimeInformation.OSArchitecture == Architecture.Arm64 ? "linux-arm64"
        : "linux-x64";

    // Some archives and packages do not preserve the executable bit.
    [UnsupportedOSPlatform("windows")]
    private static string Executable(string path)
    {
        if (CanExecute(path))
        {
            return path;
        }

        try
        {
            File.SetUnixFileMode(path, File.GetUnixFileMode(path)
                | UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The file belongs to another user, or the file system is read-only. CanExecute tests the result.
        }

        // A file system that is mounted with noexec forbids execution even with the bit.
        return CanExecute(path)
            ? path
            : ProtocCopy.Prepare(
                path, Environment.GetEnvironmentVariable("XDG_CACHE_HOME"),
                Environment.GetEnvironmentVariable("HOME"));
    }

    [UnsupportedOSPlatform("windows")]
    private static bool CanExecute(string path) => access(path, ExecuteAccess) == 0;

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int access(string path, int mode);
#pragma warning restore SYSLIB1054, IDE1006
}

/// <summary>A copy of the shipped protoc in the user's cache, for where the shipped file cannot be executed:
/// another user installed it without the execute bit, or its file system forbids to execute.</summary>
[UnsupportedOSPlatform("windows")]
internal static class ProtocCopy
{
    private const UnixFileMode OwnerOnly =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private static readonly Lock Copying = new();

    /// <summary>Returns the path of a copy with the same content. Creates the copy if it does not
    /// exist.</summary>
    /// <param name="shipped">The file to copy.</param>
    /// <param name="cacheHome">The value of XDG_CACHE_HOME.</param>
    /// <param name="home">The value of HOME.</param>
    /// <exception cref="RpcException">FailedPrecondition: no copy can be made that only this user can
    /// change.</exception>
    public static string Prepare(string shipped, string? cacheHome, string? home)
    {
        lock (Copying)
        {
            try
            {
                string folder = OwnFolder.Prepare(UserCache.Find(cacheHome, home), UserCache.Name);
                // A folder that existed before may be accessible to others.
                File.SetUnixFileMode(folder, OwnFolder.Mode);
                byte[] hash = HashOf(shipped);
                string copy = Path.Combine(folder, $"protoc-{Convert.ToHexStringLower(hash)}");
                if (!IsCopy(copy, hash))
                {
                    Copy(shipped, copy, hash);
                }

                return copy;
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                throw ProtocLocator.Missing(
                    $"'{shipped}' is not executable for this user, and it cannot be copied to the "
                    + $"user's cache: {e.Message.TrimEnd('.')}. Run 'chmod +x' on it as its owner, set "
                    + "XDG_CACHE_HOME to a folder of this user that allows execution, or set PROTOC to "
                    + "another protoc.",
                    e);
            }
        }
    }

    // For the same reason, nothing in the folder is used by its name alone.
    private static bool IsCopy(string path, byte[] hash)
    {
        FileInfo file = new(path);
        return file.Exists
            && file.LinkTarget is null
            && UnixFileStatus.Read(path)?.Owner == UnixAccounts.EffectiveUserId
            && file.UnixFileMode == OwnerOnly
            && HashOf(path).AsSpan().SequenceEqual(hash);
    }

    private static void Copy(string shipped, string copy, byte[] hash)
    {
        string part = $"{copy}.{Guid.NewGuid():N}";
        try
        {
            FileStreamOptions create = new()
            {
                Mode = FileMode.CreateNew,
                Access = FileAccess.Write,
                UnixCreateMode = OwnerOnly,
            };
            using (FileStream target = new(part, create))
            using (FileStream source = File.OpenRead(shipped))
            {
                source.CopyTo(target);
            }

            // The umask may have removed permission bits.
            File.SetUnixFileMode(part, OwnerOnly);
            if (!HashOf(part).AsSpan().SequenceEqual(hash))
            {
                throw new IOException("the file changed during the copy");
            }

            // Move replaces a link at the target instead of following it. A process that runs the old copy
            // keeps it.
            File.Move(part, copy, overwrite: true);
        }
        finally
        {
            File.Delete(part);
        }
    }

    private static byte[] HashOf(string path)
    {
        using FileStream stream = File.OpenRead(path);
        return SHA256.HashData(stream);
    }
}
