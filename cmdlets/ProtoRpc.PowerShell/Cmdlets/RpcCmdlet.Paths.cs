using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

// The paths that parameters take.
public abstract partial class RpcCmdlet
{
    /// <summary>Resolves paths to files by the rules of the shell: relative to its location, with drives and
    /// wildcards.</summary>
    /// <returns>The files; for a path without a match the path itself, which the code that reads the files
    /// reports as missing.</returns>
    /// <exception cref="RpcException">NotFound: a path is not on the file system.</exception>
    protected IReadOnlyList<string> ResolveFiles(IEnumerable<string> paths)
    {
        List<string> files = [];
        foreach (string path in paths)
        {
            try
            {
                Collection<string> found = GetResolvedProviderPathFromPSPath(path, out ProviderInfo provider);
                if (provider.Name != "FileSystem")
                {
                    throw RpcErrors.NotAFile(path, $"it is on the provider {provider.Name}");
                }

                // The shell does not report wildcards without a match, nor a missing file in '[x]'.
                files.AddRange(found.Count > 0 ? found : [ResolveLiteral(path)]);
            }
            catch (ItemNotFoundException)
            {
                // The code that reads the files reports which one is missing.
                files.Add(ResolveLiteral(path));
            }
            catch (SessionStateException e)
            {
                throw RpcErrors.NotAFile(path, e.Message.TrimEnd('.'), e);
            }
        }

        return files;
    }

    /// <summary>Resolves the path of one file or folder, which need not exist: relative to the shell's
    /// location, with drives, and without wildcards.</summary>
    /// <exception cref="RpcException">NotFound: the path is not on the file system.</exception>
    internal string ResolveLiteral(string path)
    {
        try
        {
            string full = SessionState.Path.GetUnresolvedProviderPathFromPSPath(
                path, out ProviderInfo provider, out _);
            // On another provider, the result is no path of a file. .NET would take it as relative to the
            // folder that the process was started in.
            return provider.Name == "FileSystem" ? full : throw RpcErrors.NotOnFileSystem(path, provider);
        }
        catch (Exception e) when (e is SessionStateException or PSInvalidOperationException)
        {
            throw RpcErrors.NotAFile(path, e.Message.TrimEnd('.'), e);
        }
    }
}
