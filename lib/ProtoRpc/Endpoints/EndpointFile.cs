namespace ProtoRpc.Endpoints;

/// <summary>The file of named endpoints: read when it is safe, changed under a lock, replaced at
/// once.</summary>
internal sealed class EndpointFile(string path)
{
    private const int MaxBytes = 4 * 1024 * 1024;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    public string Path => path;

    /// <summary>Reads the file; one that does not exist is empty.</summary>
    /// <exception cref="RpcException">FailedPrecondition or PermissionDenied.</exception>
    public EndpointContent Read()
    {
        string target = Target();
        try
        {
            using FileStream stream = new(
                target, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            EndpointFileSafety.Check(path, target, stream.SafeFileHandle);
            byte[] bytes = new byte[MaxBytes + 1];
            int count = stream.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            return count <= MaxBytes
                ? EndpointContent.Parse(path, bytes.AsSpan(0, count))
                : throw EndpointContent.Damaged(path, $"it has more than {MaxBytes:N0} bytes");
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return EndpointContent.Empty(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw EndpointContent.Damaged(path, FileProblem.Of(e, path), e);
        }
    }

    /// <summary>Changes the file, while no other process does.</summary>
    /// <param name="change">Changes the content; false to leave the file as it is.</param>
    /// <returns>What the change returned.</returns>
    /// <exception cref="RpcException">FailedPrecondition, PermissionDenied, Unavailable, and what the change
    /// throws.</exception>
    public bool Change(Func<EndpointContent, bool> change)
    {
        try
        {
            string target = Target();
            Prepare(System.IO.Path.GetDirectoryName(target)!);
            using FileStream fileLock = Lock($"{target}.lock");
            EndpointContent content = Read();
            // What is damaged is for its user to correct.
            _ = content.Endpoints;
            bool changed = change(content);
            if (changed)
            {
                Replace(target, content.ToBytes());
            }

            return changed;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(
                e is IOException ? RpcStatusCode.FailedPrecondition : RpcStatusCode.PermissionDenied,
                $"The file of named endpoints '{path}' cannot be written: {FileProblem.Of(e, path)}.", e)
            {
                ErrorId = RpcErrorIds.CannotWriteFile,
            };
        }
    }

    private static void Prepare(string folder)
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(folder);
        }
        else
        {
            Directory.CreateDirectory(folder, OwnerOnly | UnixFileMode.UserExecute);
        }
    }

    // The system releases the lock of a process that ends, however it ends.
    private static FileStream Lock(string path)
    {
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                return Open(path, FileMode.OpenOrCreate);
            }
            catch (IOException) when (Environment.TickCount64 < end)
            {
                Thread.Sleep(5);
            }
        }
    }

    private static FileStream Open(string path, FileMode mode)
    {
        FileStreamOptions options = new()
        {
            Mode = mode,
            Access = FileAccess.ReadWrite,
            Share = FileShare.None,
            BufferSize = 0,
        };
        if (!OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = OwnerOnly;
        }

        return new FileStream(path, options);
    }

    // A crash leaves the old file, or the new one; a reader sees one of them.
    private static void Replace(string target, byte[] bytes)
    {
        string fresh = $"{target}.{Guid.NewGuid():N}.tmp";
        try
        {
            using (FileStream stream = Open(fresh, FileMode.CreateNew))
            {
                stream.Write(bytes);
                stream.Flush(flushToDisk: true);
            }

            Move(fresh, target);
        }
        catch
        {
            File.Delete(fresh);
            throw;
        }
    }

    // On Windows, a file that another process reads cannot be replaced at that moment.
    private static void Move(string fresh, string target)
    {
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                File.Move(fresh, target, overwrite: true);
                return;
            }
            catch (Exception e) when (OperatingSystem.IsWindows() && Environment.TickCount64 < end
                && e is (IOException and not FileNotFoundException) or UnauthorizedAccessException)
            {
                Thread.Sleep(5);
            }
        }
    }

    // Tools that keep the settings of a user elsewhere put a link in their place, which stays.
    private string Target()
    {
        try
        {
            return File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return path;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw EndpointContent.Damaged(path, FileProblem.Of(e, path), e);
        }
    }
}
