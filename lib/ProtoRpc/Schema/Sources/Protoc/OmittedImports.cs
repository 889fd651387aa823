using System.Diagnostics;
using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Compiles files whose missing imports only declare options: protoc compiles copies without these
/// imports, and without the options that are unknown then.</summary>
/// <remarks>protoc decides what is missing. If a file has another error without its imports, such as an
/// unknown type, the original is compiled, with the error of its imports.</remarks>
internal sealed partial class OmittedImports : IDisposable
{
    // Limits the runs. Each run of protoc reports one unknown option of each declaration, and no options of
    // files that import files with errors.
    private const int MaxRounds = 100;

    private readonly ProtocPlan _plan;
    private readonly string _probe = $"{Guid.NewGuid():N}.proto";
    private readonly WorkFolder _folder = new();
    private readonly Dictionary<string, FileCopy> _copies = new(StringComparer.Ordinal);

    private OmittedImports(ProtocPlan plan) => _plan = plan;

    /// <summary>The plan with the copies; null if there are none.</summary>
    public ProtocPlan? Plan =>
        _copies.Values.Any(copy => copy.IsUsed) ? _plan with { Copies = _folder.FullName } : null;

    /// <summary>The imports that were not found, of all copies.</summary>
    public IEnumerable<string> Imports => _copies.Values.SelectMany(copy => copy.Imports).Distinct();

    /// <summary>Whether imports can be missing. protoc stops at the first file to compile that has
    /// errors.</summary>
    public static bool MayHelp(ProtocPlan plan, string text) =>
        plan.Inputs.Count > 1 || ProtocLine.ReadAll(text).Any(line => line.IsNotFound);

    /// <summary>Searches the files of a plan that compile without their missing imports.</summary>
    /// <param name="plan">A plan that protoc fails on.</param>
    /// <param name="compile">Runs protoc on a plan and returns its messages.</param>
    /// <param name="timeout">When to stop searching.</param>
    public static OmittedImports Find(ProtocPlan plan, Func<ProtocPlan, string> compile, TimeSpan timeout)
    {
        OmittedImports omitted = new(plan);
        try
        {
            omitted.Find(compile, timeout);
            return omitted;
        }
        catch
        {
            omitted.Dispose();
            throw;
        }
    }

    /// <summary>A warning for each copy that was compiled.</summary>
    /// <param name="fileNames">The compiled files, including imports.</param>
    public IReadOnlyList<string> Warnings(IEnumerable<string> fileNames)
    {
        HashSet<string> compiled = [.. fileNames];
        return
        [
            .. _copies.Values.Where(copy => copy.IsUsed && copy.Names.Any(compiled.Contains))
                .Select(copy => WarningOf(ProtocDiagnostics.ShownPath(copy.Path, _plan), [.. copy.Imports])),
        ];
    }

    public void Dispose() => _folder.Dispose();

    private static string WarningOf(string file, string[] imports)
    {
        string all = string.Join(", ", imports.Select(import => $"'{import}'"));
        return imports.Length switch
        {
            0 => $"{file}: Some options were left out, because imports of its imports were not found.",
            1 => $"{file}: The import {all} was not found. Only options need it, and they were left out. "
                + $"To keep them, give the folder that contains {all} as an import path.",
            _ => $"{file}: The imports {all} were not found. Only options need them, and they were left out. "
                + "To keep them, give the folders that contain the imports as an import path.",
        };
    }

    private void Find(Func<ProtocPlan, string> compile, TimeSpan timeout)
    {
        ProtocPlan probe = MakeProbe();
        Stopwatch watch = Stopwatch.StartNew();
        ProtocLine[] errors = [];
        for (int i = 0; i < MaxRounds && watch.Elapsed < timeout; i++)
        {
            string text = compile(probe);
            // The last line may be incomplete.
            errors =
            [
                .. ProtocLine.ReadAll(text[..(text.LastIndexOf('\n') + 1)])
                    .Where(line => !line.IsWarning && line.File != _probe),
            ];
            if (!Apply(errors))
            {
                break;
            }

            WriteCopies();
        }

        // The original of a file that still has errors is compiled, so that protoc reports all its errors,
        // first those of its imports.
        foreach (string path in errors.Select(PathOf))
        {
            _copies.GetValueOrDefault(path)?.GiveUp();
        }

        WriteCopies();
    }

    private void WriteCopies()
    {
        foreach (FileCopy copy in _copies.Values)
        {
            copy.Write(_folder.FullName);
        }
    }

    // protoc stops compiling at the first file with errors, but reads all imports of a file. So one probe
    // file imports all inputs.
    private ProtocPlan MakeProbe()
    {
        StringBuilder text = new("syntax = \"proto3\";\n");
        foreach (ProtocInput input in _plan.Inputs)
        {
            text.Append("import \"");
            foreach (byte value in Encoding.UTF8.GetBytes(input.Name))
            {
                _ = char.IsAsciiLetterOrDigit((char)value) || value is (byte)'/' or (byte)'.' or (byte)'_'
                    ? text.Append((char)value)
                    : text.Append('\\').Append(Convert.ToString(value, 8).PadLeft(3, '0'));
            }

            text.Append("\";\n");
        }

        string path = Path.Combine(_folder.FullName, _probe);
        File.WriteAllText(path, text.ToString());
        return _plan with { Copies = _folder.FullName, Inputs = [new(_probe, new SourceFile(path, path))] };
    }

    // Returns whether another run of protoc may report something else.
    private bool Apply(ProtocLine[] errors)
    {
        HashSet<string> absent = [.. errors.Where(line => line.IsNotFound).Select(line => line.File)];
        HashSet<string> cutOff =
            [.. errors.Where(line => line.FailedImport is not null).Select(line => line.File)];
        bool isChanged = false;
        foreach (ProtocLine line in errors.Where(line => !line.IsNotFound))
        {
            if (line.FailedImport is { } import)
            {
                isChanged |= absent.Contains(import) && CopyOf(line)?.OmitImport(import, line.At) == true;
            }
            else if (cutOff.Contains(line.File))
            {
                // An import of the file has errors, so it is unknown yet which options are missing.
            }
            else if (UnknownOption().Match(line.Text) is { Success: true } option)
            {
                isChanged |= LacksImports(line)
                    && CopyOf(line)?.OmitOption(option.Groups["name"].Value, line.At) == true;
            }
            else
            {
                isChanged |= GiveUp(line);
            }
        }

        return isChanged;
    }

    // An option may be declared by a public import of an import, which was omitted.
    private bool LacksImports(ProtocLine line) =>
        _copies.GetValueOrDefault(PathOf(line)) is { } copy
            ? copy.IsUsed
            : _copies.Values.Any(other => other is { IsUsed: true, OmitsPublicImport: true });

    private bool GiveUp(ProtocLine line)
    {
        if (_copies.GetValueOrDefault(PathOf(line)) is { } own)
        {
            return own.GiveUp();
        }

        bool isChanged = false;
        foreach (FileCopy copy in _copies.Values.Where(copy => copy.OmitsPublicImport))
        {
            isChanged |= copy.GiveUp();
        }

        return isChanged;
    }

    private FileCopy? CopyOf(ProtocLine line)
    {
        string path = PathOf(line);
        if (!_copies.TryGetValue(path, out FileCopy? copy))
        {
            string[] names = [.. _plan.NamesOf(path)];
            if (names.Length == 0)
            {
                return null;
            }

            _copies.Add(path, copy = new FileCopy(path, names));
        }

        return copy;
    }

    // protoc reports a copy by its name, and other files by their paths.
    private string PathOf(ProtocLine line) =>
        Path.IsPathFullyQualified(line.File)
            ? Path.GetFullPath(line.File)
            : _plan.FindFile(line.File) is { } path ? Path.GetFullPath(path) : "";

    [GeneratedRegex(
        "^(?:Option \"(?<name>[^\"]+)\" unknown\\. |Error while parsing option value for \"[^\"]*\": "
            + "(?:Extension \"[^\"]*\" is not defined|Could not find type ))",
        RegexOptions.CultureInvariant)]
    private static partial Regex UnknownOption();

    /// <summary>A copy of a file without some imports and options.</summary>
    private sealed class FileCopy(string path, IReadOnlyList<string> names)
    {
        // No schema is this large; protoc would need seconds to read the file.
        private const int MaxBytes = 64 * 1024 * 1024;

        private readonly ErasedParts _parts = new();
        private readonly List<string> _imports = [];
        private bool _isGivenUp;
        private bool _isWritten;
        private bool? _hasOneMeaning;

        public string Path => path;

        public IReadOnlyList<string> Names => names;

        public IReadOnlyList<string> Imports => _imports;

        public bool IsUsed => !_isGivenUp && _parts.Places.Count > 0;

        public bool OmitsPublicImport { get; private set; }

        public bool OmitImport(string name, TextPlace place)
        {
            if (!_imports.Contains(name))
            {
                _imports.Add(name);
            }

            return Add(place);
        }

        public bool OmitOption(string name, TextPlace place)
        {
            if (name.Length > 0)
            {
                _parts.Names.Add(name);
            }

            return Add(place);
        }

        /// <summary>Lets protoc read the file itself again.</summary>
        public bool GiveUp()
        {
            bool wasUsed = IsUsed;
            _isGivenUp = true;
            _isWritten &= !wasUsed;
            return wasUsed;
        }

        public void Write(string folder)
        {
            if (_isWritten)
            {
                return;
            }

            _isWritten = true;
            byte[] text = ReadAll();
            _isGivenUp |= text.Length == 0;
            if (!(_hasOneMeaning ??= !OptionEraser.HasNestedExtensions(text)))
            {
                _parts.Names.Clear();
            }

            OmitsPublicImport |= OptionEraser.Erase(text, _parts);
            foreach (string copy in names.Select(name => System.IO.Path.Combine(folder, name)))
            {
                if (_isGivenUp)
                {
                    File.Delete(copy);
                }
                else
                {
                    Directory.CreateDirectory(System.IO.Path.GetDirectoryName(copy)!);
                    File.WriteAllBytes(copy, text);
                }
            }
        }

        private byte[] ReadAll()
        {
            try
            {
                return _isGivenUp || new FileInfo(path).Length > MaxBytes ? [] : File.ReadAllBytes(path);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                // protoc reports the error.
                return [];
            }
        }

        private bool Add(TextPlace place)
        {
            bool isNew = _parts.Places.Add(place) && !_isGivenUp;
            _isWritten &= !isNew;
            return isNew;
        }
    }
}
