using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Options whose value is the path of a file or folder.</summary>
internal static class PathOption
{
    /// <summary>Rejects an empty path, as of a variable of a script that is not set.</summary>
    public static void RequirePath(this Option option) => option.Validators.Add(result =>
    {
        if (result.Tokens.Any(token => token.Value.Length == 0))
        {
            result.AddError($"{option.Name} is empty. Give a path.");
        }
    });
}
